#compdef giltrace
# Completion of giltrace(1) for zsh.

_giltrace() {
	local -a outputs running
	outputs=(
		'*'{-o+,--output=}'[write a report]:file:_files -g "*.(html|json|json.gz)"'
		'--summary-json=[write the figures as JSON]:file:_files'
		'(-v --verbose)'{-q,--quiet}'[print nothing but errors]'
		'(-q --quiet)'{-v,--verbose}'[tell what is being done]'
		'(- *)--help[print a short help]'
	)
	running=(
		'--keep-data=[keep what was recorded]:directory:_directories'
		'--python=[the interpreter]:interpreter:_command_names -e'
		'--probe=[how the GIL is watched]:way:(auto uprobe agent both)'
		'(--no-state-detect)--state-detect[also record on and off CPU]'
		'(--state-detect)--no-state-detect[do not record on and off CPU]'
		'(--no-gil-detect)--gil-detect[watch the GIL]'
		'(--gil-detect --probe --flight-recorder --agent-clock)--no-gil-detect[record on and off CPU alone]'
		'--call-graph=[how stacks are recorded]:form:(dwarf fp)'
		'--stack-size=[bytes of each stack]:size'
		'--counters=[what to count as well]:counters:_values -s , counter minor-faults major-faults task-clock cpu-clock page-faults alignment-faults emulation-faults cycles instructions cache-references cache-misses branches branch-misses bus-cycles ref-cycles stalled-cycles-frontend stalled-cycles-backend'
		'--flight-recorder=[keep the newest events only]:seconds'
		'--buffer-size=[bytes for the events]:size'
		'--agent-clock=[what the agent reads the time from]:clock:(auto tsc monotonic)'
		'(-c 1)-m+[run a module]:module:_python_modules'
		'(-m 1)-c+[run a string]:code'
	)

	case ${words[2]} in
	report)
		shift words
		((CURRENT--))
		_arguments -S $outputs '--folded=[print stacks for a flame graph]:time:(off-gil off-cpu)' \
			'1:recording:_files'
		;;
	run | record)
		shift words
		((CURRENT--))
		_arguments -S $outputs $running '1:script:_files -g "*.py"' '*:::argument:_files'
		;;
	doctor)
		shift words
		((CURRENT--))
		_arguments -S '--python=[the interpreter]:interpreter:_command_names -e' \
			'--json[write JSON]'
		;;
	probe)
		shift words
		((CURRENT--))
		_arguments -S '--python=[the interpreter]:interpreter:_command_names -e' \
			'--group=[the group of the probes]:group' '1:action:(add list del)'
		;;
	*)
		_arguments -S $outputs $running '(- *)--version[print the version]' \
			'1: :_alternative "verbs:verb:(run record report doctor probe)" "files:script:_files -g \*.py"' \
			'*:::argument:_files'
		;;
	esac
}

_giltrace "$@"
