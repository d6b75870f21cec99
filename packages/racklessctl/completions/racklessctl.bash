# shellcheck shell=bash
# bash completion of racklessctl. `racklessctl __complete` knows the words, so this needs no change for a
# new command. Standard input is no terminal there, so that nothing asks for a password.
_racklessctl() {
  local line=${COMP_LINE:0:COMP_POINT} words lines current prefix=''
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  current=${words[-1]}
  mapfile -t lines < <("$1" __complete -- "${words[@]:1}" 2>/dev/null </dev/null)
  COMPREPLY=()
  if [ "${lines[0]:-}" = :files ]; then
    compopt -o default
    return
  fi
  # bash replaces only the part after the last colon.
  if [[ $COMP_WORDBREAKS == *:* ]]; then prefix=${current%"${current##*:}"}; fi
  lines=("${lines[@]%%$'\t'*}")
  COMPREPLY=("${lines[@]#"$prefix"}")
}
complete -F _racklessctl racklessctl
