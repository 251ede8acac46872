"""Why a program is slow that fails nowhere: graph breaks, recompilations and compile times, told as they happen."""
