/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, whatever the process's locale. */
#ifndef MOT_NUMBER_H
#define MOT_NUMBER_H

#include <stdbool.h>

#define MOT_NUMBER_ROOM 32 /* characters of any number, terminator included */

/* Reads a decimal number; false for anything else, "1e999", "nan" and "0x1" included. */
bool mot_number_parse(const char *text, double *value);

/* Writes the shortest text that reads back as `value`, which is finite. */
void mot_number_print(double value, char text[MOT_NUMBER_ROOM]);

/* Any number as text for a message's "%s", with all digits: 30.000000000000004 must not print as 30. Valid until the
 * end of the block. */
#define MOT_NUMBER(value) mot_number_text((value), (char[MOT_NUMBER_ROOM]){ 0 })
const char *mot_number_text(double value, char text[MOT_NUMBER_ROOM]);

#endif
