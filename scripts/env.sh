# shellcheck shell=bash
# Sourced by the other scripts, and by you before mpirun: sets what Open MPI needs to run everywhere.

# Open MPI refuses root unless both are set; containers usually have no other user.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Containers often forbid the system call behind single-copy messages, and Open MPI then complains on every one.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMP_NUM_THREADS=1

# stop SENTENCE: one message, exit 1.
stop() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}
