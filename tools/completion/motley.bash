# SPDX-License-Identifier: Apache-2.0
# Completion of the motley command in bash: commands, options, and the names that the command itself lists.
_motley()
{
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} motley=${COMP_WORDS[0]}
    local command=${COMP_WORDS[1]} words=
    if ((COMP_CWORD == 1)); then
        words="$("$motley" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p') --help --version"
    elif [[ $cur == -* ]]; then
        words=$("$motley" "$command" --help 2>/dev/null | grep -o -e '--[a-z-]*')
    elif [[ $previous == --device || $previous == -d ]]; then
        words="cpu cuda auto reference"
    elif [[ $previous == --interpolation || $previous == -i ]]; then
        words="nearest bilinear bicubic"
    elif [[ $previous == --only ]]; then
        words=$("$motley" show "${COMP_WORDS[2]}" 2>/dev/null | sed -n 's/^  - name: //p')
    elif ((COMP_CWORD == 2)) && [[ $command == op ]]; then
        words=$("$motley" ops 2>/dev/null | cut -d ' ' -f 1)
    elif [[ $command == compare ]] || { ((COMP_CWORD == 2)) && [[ $command =~ ^(show|draw|apply|stats|preview)$ ]]; }; then
        words=$({ "$motley" policies; "$motley" transforms; } 2>/dev/null | cut -d ' ' -f 1)
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur"; ((COMP_CWORD > 1)) && compgen -f -- "$cur")
}
complete -o filenames -F _motley motley
