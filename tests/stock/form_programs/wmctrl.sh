#!/bin/sh
# Lists windows: -l, with places (-G), classes (-x) and processes (-p) where asked for.
flags=$(printf %s "$*" | tr -d ' -')
case $flags in *[!lGxpu]* | "") echo "wmctrl: only -l with G, x, p and u" >&2; exit 1 ;; esac
while IFS='|' read -r id place kind title; do
    line="$id  0"
    case $flags in *p*) line="$line 0     " ;; esac
    case $flags in *G*) line="$line $place" ;; esac
    case $flags in *x*) line="$line $kind " ;; esac
    printf '%s machine %s\n' "$line" "$title"
done <"$(dirname "$0")/windows"
