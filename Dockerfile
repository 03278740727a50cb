# HiSA and all that its private desktop needs: for machines without a Linux desktop.
#
#   docker compose run --rm hisa run 'Open the text editor. Type "hello". Save the file as "hi.txt".'
#
# Programs run in a private desktop, which is made of namespaces of an ordinary user; the options
# that it takes for that are those of the service `hisa` in docker-compose.yml, and docs/container.md
# says what each allows.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

# Packages first: they change least.
COPY scripts/install-system.sh scripts/packages.sh /usr/share/hisa/scripts/
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends ca-certificates chromium chromium-driver tini \
    && sh /usr/share/hisa/scripts/install-system.sh \
    && apt-get clean && rm -rf /var/lib/apt/lists/*

COPY pyproject.toml README.md LICENSE /usr/share/hisa/source/
COPY scripts /usr/share/hisa/source/scripts
COPY hisa /usr/share/hisa/source/hisa
COPY prompts /usr/share/hisa/source/prompts
COPY patterns_db /usr/share/hisa/source/patterns_db
# Parts of HiSA that are installed with it; with "tasks,bge" the embedder BGE-M3, but not its weights.
ARG EXTRAS=tasks
RUN python3 -m venv /opt/hisa \
    && /opt/hisa/bin/pip install --quiet --no-cache-dir "/usr/share/hisa/source[${EXTRAS}]" \
    && /opt/hisa/bin/hisa install minilm \
    && rm -rf /usr/share/hisa/source /root/.cache

# An ordinary user: root of a container has fewer rights than its number says, and more than it needs.
# Any other may take its place (`--user "$(id -u):$(id -g)"`), with the same home.
RUN useradd --create-home --uid 1000 hisa \
    && install -d -o hisa -g hisa -m 1777 /work /home/hisa/.local/share/hisa /home/hisa/.cache/huggingface \
    && chmod -R a+rwX /home/hisa
ENV PATH=/opt/hisa/bin:$PATH HOME=/home/hisa LANG=C.UTF-8
USER hisa
WORKDIR /work
ENTRYPOINT ["tini", "--", "hisa"]
CMD ["--help"]
