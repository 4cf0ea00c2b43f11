# Completion of giltrace(1) for bash.

_giltrace() {
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verb='' i
	local output_options='-o --output --summary-json -q --quiet -v --verbose --help'
	local run_options="$output_options --keep-data --python --probe --state-detect --no-state-detect"
	run_options+=' --gil-detect --no-gil-detect --call-graph --stack-size --counters'
	run_options+=' --flight-recorder --buffer-size --agent-clock -m -c'

	COMPREPLY=()
	# Behind the program, everything is the program's.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-o | --output | --summary-json | --keep-data | --python | --group) ((i++)) ;;
		--probe | --flight-recorder | --buffer-size | --agent-clock) ((i++)) ;;
		--call-graph | --stack-size | --counters | --folded) ((i++)) ;;
		-c) ((i + 1 >= COMP_CWORD)) || break ;;
		-m) ((i + 1 >= COMP_CWORD)) || break ;;
		-*) ;;
		run | record | report | doctor | probe)
			[[ -z $verb ]] || break
			verb=${COMP_WORDS[i]}
			;;
		add | list | del) [[ $verb == probe ]] || break ;;
		*) break ;;
		esac
	done
	if ((i < COMP_CWORD)); then
		compopt -o default
		return
	fi

	case $previous in
	-c | --flight-recorder | --buffer-size | --stack-size | --group) return ;;
	--call-graph)
		mapfile -t COMPREPLY < <(compgen -W 'dwarf fp' -- "$word")
		return
		;;
	--counters)
		mapfile -t COMPREPLY < <(compgen -W 'minor-faults major-faults task-clock cpu-clock page-faults alignment-faults emulation-faults cycles instructions cache-references cache-misses branches branch-misses bus-cycles ref-cycles stalled-cycles-frontend stalled-cycles-backend' -- "$word")
		return
		;;
	--folded)
		mapfile -t COMPREPLY < <(compgen -W 'off-gil off-cpu' -- "$word")
		return
		;;
	--probe)
		mapfile -t COMPREPLY < <(compgen -W 'auto uprobe agent both' -- "$word")
		return
		;;
	--agent-clock)
		mapfile -t COMPREPLY < <(compgen -W 'auto tsc monotonic' -- "$word")
		return
		;;
	--keep-data)
		compopt -o dirnames
		return
		;;
	--python)
		mapfile -t COMPREPLY < <(compgen -c -- "$word" | grep python)
		compopt -o default
		return
		;;
	-m)
		mapfile -t COMPREPLY < <(compgen -W "$(python3 -c \
			'import pkgutil; print(*(m.name for m in pkgutil.iter_modules()))' 2>/dev/null)" -- "$word")
		return
		;;
	-o | --output | --summary-json)
		compopt -o default
		return
		;;
	esac
	case $word in
	-*)
		case $verb in
		report) mapfile -t COMPREPLY < <(compgen -W "$output_options --folded" -- "$word") ;;
		doctor) mapfile -t COMPREPLY < <(compgen -W '--python --json -q -v --help' -- "$word") ;;
		probe) mapfile -t COMPREPLY < <(compgen -W '--python --group -q -v --help' -- "$word") ;;
		*) mapfile -t COMPREPLY < <(compgen -W "$run_options --version" -- "$word") ;;
		esac
		;;
	*)
		case $verb in
		'') mapfile -t COMPREPLY < <(compgen -W 'run record report doctor probe' -- "$word") ;;
		probe) mapfile -t COMPREPLY < <(compgen -W 'add list del' -- "$word") ;;
		esac
		[[ $verb == doctor || $verb == probe ]] || compopt -o default
		;;
	esac
}

complete -F _giltrace giltrace
