# To be read by a shell: `conda activate NAME` and `conda deactivate`; the rest is a program.
conda() {
    case "${1:-}" in
    activate)
        _hisa_env=$(/home/user/anaconda3/condabin/conda where "${2:-base}") || return 1
        if [ -z "${CONDA_PREFIX:-}" ]; then
            _HISA_PATH=$PATH
            _HISA_PS1=${PS1:-}
        fi
        # What base has, such as dbt, is found in every environment.
        PATH="$_hisa_env/bin:/home/user/anaconda3/bin:/home/user/anaconda3/condabin:$_HISA_PATH"
        CONDA_PREFIX=$_hisa_env
        CONDA_DEFAULT_ENV=${2:-base}
        VIRTUAL_ENV=$_hisa_env
        PS1="($CONDA_DEFAULT_ENV) $_HISA_PS1"
        export PATH CONDA_PREFIX CONDA_DEFAULT_ENV VIRTUAL_ENV
        hash -r
        ;;
    deactivate)
        [ -n "${CONDA_PREFIX:-}" ] || return 0
        PATH=$_HISA_PATH
        PS1=$_HISA_PS1
        unset CONDA_PREFIX CONDA_DEFAULT_ENV VIRTUAL_ENV
        hash -r
        ;;
    *) /home/user/anaconda3/condabin/conda "$@" ;;
    esac
}
