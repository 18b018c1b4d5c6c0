package kernels

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// largeText has characters of all lengths in UTF-8 and all kinds of escape sequences in JSON.
const largeText = "a\"b\\c\n\u0001é한😀\u2028</script>\tz"

// Of a frame that was cut at any place the headers and the beginning of its text are read, or it is refused.
func TestFramesThatWereCutKeepTheirBeginning(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(largeText, 3)
	content, err := json.Marshal(map[string]any{"name": "stdout", "text": text})
	if err != nil {
		t.Fatal(err)
	}
	m := Message{Channel: channelIOPub, Header: Header{ID: "m1", Type: "stream"}, Parent: Header{ID: "p1"}, Content: content}
	for _, v1 := range []bool{false, true} {
		frame, err := encode(m, v1)
		if err != nil {
			t.Fatal(err)
		}
		longest := 0
		for at := range frame {
			got, err := decode(frame[:at], v1, v1, int64(len(frame)))
			if err != nil {
				continue
			}
			if got.Header.ID != "m1" || got.Parent.ID != "p1" && len(got.Content) > 0 || got.Channel != channelIOPub {
				t.Fatalf("v1=%v, cut at %d: got %+v, want the headers", v1, at, got)
			}
			if len(got.Content) == 0 {
				continue
			}
			var c struct{ Name, Text string }
			if err := json.Unmarshal(got.Content, &c); err != nil {
				t.Fatalf("v1=%v, cut at %d: %v in %q", v1, at, err, got.Content)
			}
			// Half of a character beyond 16 bits becomes the character for errors.
			if !strings.HasPrefix(text, strings.TrimSuffix(c.Text, "\uFFFD")) {
				t.Fatalf("v1=%v, cut at %d: got the text %q, want a beginning of %q", v1, at, c.Text, text)
			}
			if got.Cut == 0 && c.Text != text {
				t.Fatalf("v1=%v, cut at %d: got %q and nothing cut, want the number of missing bytes", v1, at, c.Text)
			}
			longest = max(longest, len(c.Text))
		}
		if longest < len(text)-4 {
			t.Errorf("v1=%v: the longest text has %d bytes, want almost all %d", v1, longest, len(text))
		}
	}
}

// A reply and a question that were cut are not taken for output: the newest output is where a replay continues.
func TestFramesThatWereCutHaveTheirChannel(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"execute_reply": channelShell, "input_request": channelStdin, "error": channelIOPub} {
		frame := fmt.Appendf(nil, `{"header":{"msg_id":"m1","msg_type":%q},"parent_header":{"msg_id":"p1"},"content":{"status":"error","traceback":["aaa`, kind)
		got, err := decode(frame, false, false, 1<<30)
		if err != nil || got.Channel != want || string(got.Content) != `{"status":"error","traceback":["aaa"]}` {
			t.Errorf("%s: got %+v and %v, want the channel %s and the beginning", kind, got, err, want)
		}
	}
}

// Frames of a hostile server are refused or read, whatever they are.
func FuzzFrames(f *testing.F) {
	for _, v1 := range []bool{false, true} {
		frame, err := encode(Message{Channel: channelIOPub, Header: Header{ID: "m"}, Content: json.RawMessage(`{"text":"a"}`)}, v1)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame, v1, v1, 0)
		f.Add(frame[:len(frame)-3], v1, v1, 9)
	}
	f.Add([]byte("\x00\x00\x00\x02\x00\x00\x00\x0c\x00\x00\x02\xaa{}"), true, false, 0)
	f.Add([]byte{0xff, 0xfe, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, true, true, 1)
	f.Fuzz(func(t *testing.T, data []byte, isBinary, v1 bool, more int) {
		m, err := decode(data, isBinary, v1, int64(len(data))+int64(max(0, more)))
		if err == nil && m.Cut > 0 && len(m.Content) > 0 && !json.Valid(m.Content) {
			t.Errorf("got the content %q, want complete JSON", m.Content)
		}
		r := NewRun(m.Parent.ID, 0, 0)
		r.Receive(m)
		r.Take()
	})
}
