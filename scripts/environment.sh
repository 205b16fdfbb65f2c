# Sourced by the scripts beside it. Afterwards `checkout` is the folder of the project and `python` is a Python that can
# make the virtual environment. Names are tried by running them, because a name on the PATH may be a stub that fails.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
python=
for candidate in python3.11 python3.12 python3.13 python3.14 python3 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null >/dev/null 2>&1; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "kedge needs Python 3.11 or later; none was found on the PATH" >&2
    exit 1
fi
