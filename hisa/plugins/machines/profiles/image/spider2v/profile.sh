#!/bin/sh
# Runs once inside the new system, as its root, after setup.sh: all of OSWorld's, and the Python
# that Spider2-V's tasks find under /home/user/anaconda3, with an environment for each subject.
set -eu
sh /usr/lib/hisa/osworld.sh

conda=/home/user/anaconda3
python3 -m venv /opt/anaconda3
for home in /etc/skel /home/user; do
    ln -s /opt/anaconda3 "$home/anaconda3"
    mkdir "$home/.dagster"
    touch "$home/.dagster/dagster.yaml"
    cat >>"$home/.bashrc" <<'LINES'
. /home/user/anaconda3/etc/profile.d/conda.sh
conda activate base
export DAGSTER_HOME=/home/user/.dagster
LINES
done
chown -R user:user /home/user/.dagster

mkdir -p "$conda/envs" "$conda/etc/profile.d" "$conda/condabin"
for wanted in /usr/lib/hisa/environments/*.txt; do
    place="$conda/envs/$(basename "$wanted" .txt)"
    python3 -m venv "$place"
    "$place/bin/pip" install --isolated --quiet --no-index --find-links /var/cache/hisa-wheels \
        --requirement "$wanted"
done
rm -rf /var/cache/hisa-wheels

# What the environment of notebooks has, base has too.
for site in "$conda"/envs/jupyter/lib/python3*/site-packages; do
    echo "import site; site.addsitedir('$site')" \
        >"$conda/lib/${site#"$conda/envs/jupyter/lib/"}/jupyter.pth"
done
for program in "$conda"/envs/jupyter/bin/jupyter*; do
    ln -s "../envs/jupyter/bin/${program##*/}" "$conda/bin/"
done
mv /usr/lib/hisa/conda.sh "$conda/etc/profile.d/conda.sh"
mv /usr/lib/hisa/conda "$conda/condabin/conda"
ln -s ../condabin/conda "$conda/bin/conda"
chmod 0755 "$conda/condabin/conda"
printf '. %s/etc/profile.d/conda.sh\nconda activate "${1:-base}"\n' "$conda" >"$conda/bin/activate"

# Whoever uses the machine installs into it, as one may in a home folder.
chown -R user:user /opt/anaconda3
chmod -R a+rwX /opt/anaconda3
