/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: numbers of a text that change with the epoch. In each epoch the text means the plain one in which every
 * schedule is replaced by its number, so nothing that reads or draws a plain text knows of them.
 *
 * The text is read again in each epoch. Keys have tables with the places of their numbers, so that a list of {place,
 * points} could be written into a copy of the model instead. But schedules stand wherever a number does: in branches,
 * levels and weights, in lists, views and phases, which no table has; checks of several numbers, and whatever follows
 * from a number, would be made again all the same; and each epoch is checked by reading it. It would be a second way
 * into the model, which replaces nothing. Of an epoch's first batch, reading takes 20 to 80 us; where a level changes,
 * 1.4 ms, nearly all of it the tables that follow. */
#ifndef MOT_SCHEDULE_H
#define MOT_SCHEDULE_H

#include "policies/reader.h"

#define MOT_MAX_POINTS 1024          /* epochs at which some number begins or ends to change */
#define MOT_MAX_CHANGES (1u << 14)   /* epochs in which a text means something else than in the one before */
#define MOT_MAX_CHECKED (1ull << 25) /* values that are read to check a text in all of them */
#define MOT_VALUES_OF_POLICY 1024    /* reading a stage's built-in policy takes as long as so many */

/* From first[i] up to the next one, the text means the same in all epochs, unless moves[i]: then in none of them. */
typedef struct mot_schedule {
    uint32_t epochs; /* the schedule's length; 0: the text does not say */
    uint32_t count;
    uint32_t first[MOT_MAX_POINTS]; /* [count], ascending from 0 */
    bool moves[MOT_MAX_POINTS];
} mot_schedule;

/* The first schedule of a text, its phases of stages or its number of epochs; NULL: the text is plain. */
const mot_yaml *mot_schedule_in(const reader *r);

/* Where such a text says what begins in an epoch: the phase or the point, or the first schedule. */
const mot_yaml *mot_schedule_place(const reader *r, uint32_t epoch);

/* Finds and checks all schedules of a text. */
void mot_schedule_read(reader *r, mot_schedule *schedule);

/* Makes the text that `r` has read the plain one of an epoch; mot_schedule_read has found no problem in it.
 * Errors: MEMORY. */
motley_status mot_schedule_resolve(reader *r, uint32_t epoch);

/* Multiplies all epochs of a text so that it is `epochs` long; problems go to `r`. Errors: MEMORY. */
motley_status mot_schedule_scale(reader *r, uint32_t epochs);

/* The first epoch in which the text means the same as in `epoch`, and in all between. */
uint32_t mot_schedule_begin(const mot_schedule *schedule, uint32_t epoch);

#endif
