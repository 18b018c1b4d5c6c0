package fakemodel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// said is a message of a conversation, independent of the dialect.
type said struct {
	assistant bool
	texts     []string
	results   []string
	calls     int
}

// dialect is one of the APIs.
type dialect struct {
	path string
	read func(body []byte) ([]said, error)
	// speak returns the writer of a reply.
	speak func(*stream) voice
}

// voice writes a reply in a dialect.
type voice interface {
	text(piece string)
	think(piece string)
	call(tool, input string)
	// halfCall begins a call with the first half of its input.
	halfCall(tool, input string)
	// end ends the reply: stop, calls, length or refused.
	end(why string)
	// fail sends an error inside the stream.
	fail(kind, message string)
}

var dialects = []dialect{
	{"/messages", readMessages, speakMessages},
	{"/chat/completions", readChat, speakChat},
	{"/responses", readResponses, speakResponses},
	{":streamGenerateContent", readGemini, speakGemini},
}

// line is a directive.
type line struct{ verb, rest string }

// plan returns the directives of the newest text of the user that are still to be executed: those
// after the rounds of calls already made.
func plan(conversation []said) []line {
	prompt, called := "", false
	var done []func([]line) []line // removes what the replies to the prompt executed
	for _, m := range conversation {
		for _, text := range m.texts {
			switch {
			case m.assistant:
			case strings.Contains(text, goOn):
				done = append(done, afterBreak)
			default:
				prompt, called, done = text, false, nil
			}
		}
		if m.assistant && m.calls > 0 {
			called, done = true, append(done, afterCalls)
		}
	}
	if strings.Contains(prompt, nameIt) {
		return []line{{"say", "A title by the model"}}
	}
	if strings.Contains(prompt, sumUp) {
		return []line{{"say", fmt.Sprintf("All of it in short: %d messages.", len(conversation)-1)}}
	}
	lines := directives(prompt)
	if len(lines) == 0 {
		if called {
			return []line{{"results", ""}}
		}
		return []line{{"say", "You said: " + strings.TrimSpace(prompt)}}
	}
	for _, after := range done {
		lines = after(lines)
	}
	return lines
}

// afterCalls returns the directives after the first calls.
func afterCalls(lines []line) []line {
	i := slices.IndexFunc(lines, isCall)
	if i < 0 {
		return nil
	}
	for lines = lines[i:]; len(lines) > 0 && isCall(lines[0]); {
		lines = lines[1:]
	}
	return lines
}

// afterBreak returns the directives after the first that breaks off a reply. If it is the last,
// it breaks off all replies.
func afterBreak(lines []line) []line {
	i := slices.IndexFunc(lines, breaksOff)
	return lines[min(i+1, len(lines)-1):]
}

// goOn occurs in the hub's request to continue a reply that broke off.
const goOn = "broke off in the middle of your reply"

// breaksOff reports whether a directive ends a reply before its end.
func breaksOff(l line) bool {
	return slices.Contains([]string{"cut", "end", "garbage", "huge", "hang", "fail"}, l.verb)
}

// nameIt occurs in the hub's prompt for a title of the session.
const nameIt = "Answer with the title of this conversation"

// sumUp occurs in the hub's prompt for a summary of the conversation.
const sumUp = "is about to be replaced by a summary that you write now"

func isCall(l line) bool { return l.verb == "call" }

// earlier matches the parts of a hub's prompt that repeat earlier messages.
var earlier = regexp.MustCompile(`(?s)<(timeline|recent_conversation|previous_conversation)>.*?</(timeline|recent_conversation|previous_conversation)>|<this_window [^>]*>.*?</this_window>`)

// directives returns the lines of a text that begin with a slash. Those in repeated earlier
// messages do not count.
func directives(text string) (out []line) {
	for l := range strings.Lines(earlier.ReplaceAllString(text, "")) {
		l, found := strings.CutPrefix(strings.TrimSpace(l), "/")
		if verb, rest, _ := strings.Cut(l, " "); found && verb != "" {
			out = append(out, line{verb, strings.TrimSpace(rest)})
		}
	}
	return out
}

// reply answers a request: it executes its directives or refuses it.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, d dialect, body []byte) {
	conversation, err := d.read(body)
	switch {
	case !s.allowed(r):
		refuse(w, "auth", "The key is wrong.")
		return
	case err != nil:
		refuse(w, "invalid", err.Error())
		return
	case len(conversation) == 0:
		refuse(w, "invalid", "There are no messages.")
		return
	case s.Window > 0 && len(body)/4 >= s.Window:
		refuse(w, "context_length", "")
		return
	}
	use := Use{Input: len(body)/tokenBytes + 1}
	if s.Caching {
		if use, err = s.cache.count(d.path, body); err != nil {
			refuse(w, "invalid", err.Error())
			return
		}
		s.mu.Lock()
		s.uses = append(s.uses, use)
		s.mu.Unlock()
	}
	p := &player{s: s, ctx: r.Context(), conversation: conversation, out: &stream{w: w, use: use}}
	p.voice = d.speak(p.out)
	p.play(plan(conversation))
}

// player executes the directives of one reply.
type player struct {
	s            *Server
	ctx          context.Context // context of the request
	conversation []said
	out          *stream
	voice        voice
}

// play executes directives until the reply has ended. Consecutive calls end it.
func (p *player) play(lines []line) {
	for i, l := range lines {
		if ended := p.step(l); ended {
			return
		}
		if isCall(l) && (i == len(lines)-1 || !isCall(lines[i+1])) {
			p.voice.end("calls")
			return
		}
	}
	p.voice.end("stop")
}

// step executes one directive and reports whether the reply has ended.
func (p *player) step(l line) bool {
	switch l.verb {
	case "say":
		p.say(l.rest)
	case "think":
		for _, piece := range pieces(unquote(l.rest)) {
			p.voice.think(piece)
		}
	case "stream":
		count, rate, _ := strings.Cut(l.rest, " ")
		n, _ := strconv.Atoi(count)
		perSecond, _ := strconv.Atoi(cmp.Or(rate, "50"))
		for i := range n {
			p.voice.text(fmt.Sprintf("w%d ", i))
			if !p.sleep(time.Second / time.Duration(max(1, perSecond))) {
				return true
			}
		}
	case "sleep":
		d, _ := time.ParseDuration(l.rest)
		return !p.sleep(d)
	case "call":
		tool, input, _ := strings.Cut(l.rest, " ")
		if !json.Valid([]byte(input)) {
			input = html.UnescapeString(input) // it may have been escaped for a prompt
		}
		p.voice.call(tool, input)
	case "results":
		p.say(strconv.Quote(strings.Join(p.results(), "\n")))
	case "recall":
		p.say(strconv.Quote(strings.Join(p.all(), "\n")))
	default:
		return p.endAbnormally(l)
	}
	return false
}

// endAbnormally executes a directive that ends the reply in an unusual way, and reports whether it did.
// An unknown directive is mentioned in the text, and the reply continues.
func (p *player) endAbnormally(l line) bool {
	switch l.verb {
	case "length":
		p.voice.end("length")
	case "hang":
		p.out.begin()
		p.sleep(24 * time.Hour)
	case "cut":
		p.out.begin()
		if tool, input, _ := strings.Cut(l.rest, " "); tool != "" {
			p.voice.halfCall(tool, input)
		}
		panic(http.ErrAbortHandler)
	case "end":
		p.out.begin()
	case "garbage":
		p.out.write("data: {\"type\": oh no\n\n")
	case "huge":
		p.out.write("data: \"" + strings.Repeat("x", 8_000_000) + "\"\n\n")
	case "fail":
		what, text, _ := strings.Cut(l.rest, " ")
		switch {
		case what == "refused":
			p.voice.end("refused")
		case p.out.begun:
			p.voice.fail(failures[what].kind, cmp.Or(text, failures[what].text))
		default:
			refuse(p.out.w, what, text)
		}
	default:
		p.say(strconv.Quote("There is no directive /" + l.verb + "."))
		return false
	}
	return true
}

// say sends a text in pieces.
func (p *player) say(text string) {
	for _, piece := range pieces(unquote(text)) {
		p.voice.text(piece)
	}
}

// sleep waits for d. It returns false as soon as the client disconnects or the server closes.
func (p *player) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.ctx.Done():
	case <-p.s.closing:
	}
	return false
}

// results returns the results of the newest calls.
func (p *player) results() (out []string) {
	for _, m := range p.conversation {
		if m.assistant {
			out = nil
		}
		out = append(out, m.results...)
	}
	return out
}

// all returns all text of the conversation.
func (p *player) all() (out []string) {
	for _, m := range p.conversation {
		out = append(out, m.results...)
		out = append(out, m.texts...)
	}
	return out
}

// maxPieces is the approximate maximum number of pieces of a text.
const maxPieces = 200

// pieces splits a text after each space, and joins words into larger pieces if there would be
// more than about maxPieces.
func pieces(text string) (out []string) {
	for word := range strings.SplitAfterSeq(text, " ") {
		last := len(out) - 1
		if last >= 0 && len(out[last])+len(word) <= len(text)/maxPieces {
			out[last] += word
			continue
		}
		out = append(out, word)
	}
	return out
}

// unquote returns the text of a quoted Go string, or the text itself.
func unquote(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

// failures are the responses to /fail.
var failures = map[string]struct {
	status     int
	kind, text string
}{
	"auth":           {http.StatusUnauthorized, "authentication_error", "invalid x-api-key"},
	"rate":           {http.StatusTooManyRequests, "rate_limit_error", "too many requests"},
	"overloaded":     {529, "overloaded_error", "Overloaded"},
	"transport":      {http.StatusBadGateway, "api_error", "bad gateway"},
	"context_length": {http.StatusBadRequest, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"},
	"invalid":        {http.StatusBadRequest, "invalid_request_error", "messages: something is wrong"},
}

// refuse sends an error instead of a stream.
func refuse(w http.ResponseWriter, what, text string) {
	t, ok := failures[what]
	if !ok {
		t.status, _ = strconv.Atoi(what)
		t.status = max(t.status, http.StatusBadRequest)
		t.kind, t.text = "some_error", http.StatusText(t.status)
	}
	body, _ := json.Marshal(map[string]any{ // never fails for strings
		"type": "error", "error": map[string]string{"type": t.kind, "message": cmp.Or(text, t.text)},
	})
	Status(t.status, string(body))(w, nil)
}

// stream is a response in progress.
type stream struct {
	w      http.ResponseWriter
	begun  bool
	use    Use // tokens read
	output int // tokens written
}

// begin sends the headers, if they have not been sent, and flushes.
func (s *stream) begin() {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		s.w.Header().Set("Cache-Control", "no-cache")
		s.w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(s.w).Flush() // the client may be gone
}

// write sends bytes as they are.
func (s *stream) write(text string) {
	s.begin()
	_, _ = io.WriteString(s.w, text) // the client may be gone
	s.begin()
}

// send sends an event; an empty name is left out.
func (s *stream) send(name string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // never fails for strings and numbers
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	s.write(name + "data: " + string(raw) + "\n\n")
}
