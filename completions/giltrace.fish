# Completion of giltrace(1) for fish.

set -l verbs run record report doctor probe
set -l no_verb "not __fish_seen_subcommand_from $verbs"
set -l runs "not __fish_seen_subcommand_from report doctor probe"
set -l asks "__fish_seen_subcommand_from doctor probe"

complete -c giltrace -n $no_verb -a run -d 'Run a program and report'
complete -c giltrace -n $no_verb -a record -d 'Run a program and keep what was recorded'
complete -c giltrace -n $no_verb -a report -d 'Report on a recording'
complete -c giltrace -n $no_verb -a doctor -d 'Tell whether tracing will work here'
complete -c giltrace -n $no_verb -a probe -d 'Manage probes that stay'
complete -c giltrace -n '__fish_seen_subcommand_from probe' -f -a 'add list del'
complete -c giltrace -n '__fish_seen_subcommand_from probe' -l group -x -d 'The group of the probes'
complete -c giltrace -n '__fish_seen_subcommand_from doctor' -l json -d 'Write JSON'
complete -c giltrace -n $asks -l python -r -F -a '(__fish_complete_command)' -d 'The interpreter'
complete -c giltrace -n $no_verb -l version -d 'Print the version'
complete -c giltrace -s o -l output -r -F -d 'Write a report: .html, .json, .json.gz'
complete -c giltrace -l summary-json -r -F -d 'Write the figures as JSON'
complete -c giltrace -s q -l quiet -d 'Print nothing but errors'
complete -c giltrace -s v -l verbose -d 'Tell what is being done'
complete -c giltrace -l help -d 'Print a short help'
complete -c giltrace -n $runs -l keep-data -x -a '(__fish_complete_directories)' -d 'Keep what was recorded'
complete -c giltrace -n $runs -l python -r -F -a '(__fish_complete_command)' -d 'The interpreter'
complete -c giltrace -n $runs -l probe -x -a 'auto uprobe agent both' -d 'How the GIL is watched'
complete -c giltrace -n '__fish_seen_subcommand_from report' -l folded -x -a 'off-gil off-cpu' -d 'Print stacks for a flame graph'
complete -c giltrace -n $runs -l gil-detect -d 'Watch the GIL'
complete -c giltrace -n $runs -l no-gil-detect -d 'Do not: record on and off CPU alone'
complete -c giltrace -n $runs -l state-detect -d 'Also record on and off CPU'
complete -c giltrace -n $runs -l no-state-detect -d 'Do not'
complete -c giltrace -n $runs -l call-graph -x -a 'dwarf fp' -d 'How stacks are recorded'
complete -c giltrace -n $runs -l stack-size -x -d 'Bytes of each stack'
complete -c giltrace -n $runs -l counters -x -a 'minor-faults major-faults task-clock cpu-clock page-faults alignment-faults emulation-faults cycles instructions cache-references cache-misses branches branch-misses bus-cycles ref-cycles stalled-cycles-frontend stalled-cycles-backend' -d 'What to count as well'
complete -c giltrace -n $runs -l flight-recorder -x -d 'Seconds of events to keep'
complete -c giltrace -n $runs -l buffer-size -x -d 'Bytes for the events'
complete -c giltrace -n $runs -l agent-clock -x -a 'auto tsc monotonic' -d 'What the agent reads the time from'
complete -c giltrace -n $runs -s m -x -d 'Run a module'
complete -c giltrace -n $runs -s c -x -d 'Run a string'
