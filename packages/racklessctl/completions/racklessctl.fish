# fish completion of racklessctl. `racklessctl __complete` knows the words, so this needs no change for a
# new command. Standard input is no terminal there, so that nothing asks for a password.
function __racklessctl_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null </dev/null)
    if test "$lines[1]" = :files
        __fish_complete_path "$current"
    else
        printf '%s\n' $lines
    end
end
complete --command racklessctl --no-files --arguments '(__racklessctl_complete)'
