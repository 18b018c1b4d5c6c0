#!/usr/bin/env bash
# try-replicas.sh [--once]   shows that a stream goes on when the hub that runs it is
# killed: Redis, three hubs and nginx on this machine's loopback, a session, an
# agent that says w1 w2 w3 …, and kill -9 for the hub that owns the session.
#
# It checks what came through and ends with 1 unless every word is there once and in
# order. Then everything stays up to be looked at, until Enter or Ctrl-C; with
# --once it ends at once. Ports are PORT (18080) for nginx and the seven after it.
set -euo pipefail
cd "$(dirname "$0")/.."

once=
case ${1-} in
  --once) once=yes ;;
  '') ;;
  *)
    echo "usage: docs/try-replicas.sh [--once]" >&2
    exit 2
    ;;
esac
words=400 rate=20
front=${PORT:-18080}
unset PORT # the hubs would take it for theirs
redis=$((front + 7))
names=(a b c)
declare -A port=([a]=$((front + 1)) [b]=$((front + 3)) [c]=$((front + 5))) pid=()

scripts/need.sh redis-server nginx curl
home=$(mktemp -d)
# nginx drops its rights when root starts it, and has to come through here.
chmod 755 "$home"

others=() # processes besides the hubs
cleanup() {
  trap - EXIT INT TERM
  exec 3>&- # whoever is attached leaves
  kill "${pid[@]}" "${others[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$home"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
exec 3>/dev/null

fail() {
  echo "FAILED: $*" >&2
  tail -n 5 "$home"/*.log >&2 || true
  exit 1
}

# within SECONDS WHAT COMMAND…   waits until the command succeeds.
within() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "$what took too long"
    sleep 0.05
  done
}

# now is the time in milliseconds.
now() { echo $((${EPOCHREALTIME/./} / 1000)); }

for p in $(seq "$front" $redis); do
  if (: <"/dev/tcp/127.0.0.1/$p") 2>/dev/null; then
    echo "port $p is taken; set PORT to the first of eight free ones" >&2
    exit 1
  fi
done

scripts/build.sh "$home/hub" ./cmd/hub

echo "starting Redis, three hubs and nginx"
redis-server --port $redis --bind 127.0.0.1 --dir "$home" --appendonly yes --save '' \
  --maxmemory-policy noeviction >"$home/redis.log" 2>&1 &
others+=($!)
answers() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
within 10 "Redis" answers $redis

for name in "${names[@]}"; do
  "$home/hub" serve --replica-id "$name" --short-lease --addr "127.0.0.1:${port[$name]}" \
    --store "redis://127.0.0.1:$redis" --files-dir "$home/files" --provider demo \
    --trusted-proxies 127.0.0.1/32 >"$home/$name.log" 2>&1 &
  pid[$name]=$!
done
ready() { curl -fs -o "$home/ready" "http://127.0.0.1:$1/readyz"; }
for name in "${names[@]}"; do within 20 "hub $name" ready "${port[$name]}"; done

# The file that is deployed, with the hubs' ports instead of their names.
{
  echo "daemon off; pid $home/nginx.pid; error_log $home/nginx.log;"
  sed -e "s/hub1:8080/127.0.0.1:${port[a]}/; s/hub2:8080/127.0.0.1:${port[b]}/; s/hub3:8080/127.0.0.1:${port[c]}/" \
    -e "s/hub1:8081/127.0.0.1:$((port[a] + 1))/; s/hub2:8081/127.0.0.1:$((port[b] + 1))/; s/hub3:8081/127.0.0.1:$((port[c] + 1))/" \
    -e "s/listen 8080/listen 127.0.0.1:$front/" -e '/listen 8081;/s/8081/unix:'"${home//\//\\/}"'\/apps.sock/' \
    -e "s|^http {|http { access_log off; client_body_temp_path $home/t1; proxy_temp_path $home/t2; fastcgi_temp_path $home/t3; uwsgi_temp_path $home/t4; scgi_temp_path $home/t5;|" \
    deploy/nginx.conf
} >"$home/nginx.conf"
nginx -c "$home/nginx.conf" 2>>"$home/nginx.log" &
others+=($!)
within 10 "nginx" ready "$front"

url=http://127.0.0.1:$front
HUB_TOKEN=$(sed -n 's/.*[?]token=//p' "$home/a.log")
export HUB_TOKEN
ask() { curl -fsS -H "Authorization: Bearer $HUB_TOKEN" -H 'Content-Type: application/json' "$@"; }
field() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }

session=$(ask "$url/api/sessions" -d '{"title":"Three hubs"}' | field sessionId)
owner() { ask "$url/api/admin/sessions/$session" | field owner; }
echo
echo "  open    $url/?session=$session&token=$HUB_TOKEN"
echo

if [ -z "$once" ]; then
  read -rp "Open it if you like to watch. Enter begins the stream, and kills its hub in the middle." || true
fi
echo "attaching through nginx; the agent is to say $words words, $rate a second"
mkfifo "$home/say"
"$home/hub" attach --server "$url" --json "$session" <"$home/say" >"$home/events" 2>"$home/attach.log" &
others+=($!)
exec 3>"$home/say"
echo "/stream $words $rate" >&3

# heard is how many events of the agent have come.
heard() { grep -c '^{"type":"AGENT_RESPONSE"' "$home/events" || true; }
some() { [ "$(heard)" -ge 100 ]; }
within 30 "the first words" some

victim=$(owner)
[ -n "$victim" ] || fail "no replica owns the session"
before=$(heard)
echo "hub $victim owns the session and has said about $before words: kill -9"
at=$(now)
kill -9 "${pid[$victim]}"
wait "${pid[$victim]}" 2>/dev/null || true
unset "pid[$victim]"

# taken says that another hub has written to the log.
taken() { grep '^{"type":"OWNER_CHANGED"' "$home/events" | grep -vq '"replica":"'"$victim"'"'; }
within 15 "the take-over" taken
took=$(($(now) - at))
# The admin view changes a little later than the log, and names the dead replica until then.
heir=
elsewhere() { heir=$(owner) && [ -n "$heir" ] && [ "$heir" != "$victim" ]; }
within 15 "the monitor's word of the new owner" elsewhere
echo "hub $heir has it, $took ms after the kill, as the attached terminal saw it"
over() { grep -q '^{"type":"AGENT_RESPONSE".*"isComplete":true' "$home/events"; }
within $((words / rate + 20)) "the rest of the stream" over

# A delta says where in the text it begins. A turn that no tool was used in is run
# again by the new owner, so its text begins again at 0, in the same place on the
# screen. So at any time the text must be w1 w2 w3 …, whatever was written anew, and
# in the end all of it. Positions in the log must rise.
grep '^{"type":"AGENT_RESPONSE"' "$home/events" | awk -v want="$words" '
  function part(name, form,   s) {
    if (!match($0, "\"" name "\":" form)) return ""
    s = substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
    gsub(/"/, "", s)
    return s
  }
  {
    split(part("message_id", "\"[0-9]+-[0-9]+\""), at, "-")
    if (at[1] + 0 < epoch || at[1] + 0 == epoch && at[2] + 0 <= seq) { print "event " at[1] "-" at[2] " came again or too late"; bad = 1; exit }
    if (epoch && at[1] + 0 > epoch) anew = said
    epoch = at[1] + 0; seq = at[2] + 0
    text = substr(text, 1, part("offset", "[0-9]+") + 0) part("delta", "\"[^\"]*\"")
    said = split(text, word, " ")
    for (i = 1; i <= said; i++) if (word[i] != "w" i) { print "word " i " is " word[i]; bad = 1; exit }
  }
  END {
    if (bad) exit 1
    if (said != want) { print said " words of " want; exit 1 }
    print "all " want " words are there, each once and in order; " anew " of them were said before the kill"
  }' || fail "the stream is not whole"

[ -z "$once" ] || exit 0
echo
echo "Everything stays up: $url/?session=$session&token=$HUB_TOKEN"
echo "Say /stream 400 20 there and kill another one yourself:$(for n in "${!pid[@]}"; do printf '  %s is kill -9 %s' "$n" "${pid[$n]}"; done)"
echo "Enter or Ctrl-C ends it."
read -r || true
