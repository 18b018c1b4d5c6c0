package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers/sse"
)

// read decodes a whole stream.
func read(r io.Reader) (out []string, err error) {
	for e, err := range sse.Events(r) {
		if err != nil {
			return out, err
		}
		out = append(out, fmt.Sprintf("%s|%s", e.Name, e.Data))
	}
	return out, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want []string
	}{
		"nothing":                {"", nil},
		"one":                    {"event: a\ndata: x\n\n", []string{"a|x"}},
		"no name":                {"data: x\n\n", []string{"|x"}},
		"no space":               {"data:x\n\n", []string{"|x"}},
		"one space only":         {"data:  x \n\n", []string{"| x "}},
		"several lines":          {"data: x\ndata: y\ndata\n\n", []string{"|x\ny\n"}},
		"carriage returns":       {"event: a\r\ndata: x\r\n\r\ndata: y\r\rdata: z\n\n", []string{"a|x", "|y", "|z"}},
		"byte order mark":        {"\uFEFFdata: x\n\n", []string{"|x"}},
		"comments and others":    {": ping\n\nid: 3\nretry: 5\nnonsense\ndata: x\n\n", []string{"|x"}},
		"names without data":     {"event: a\n\ndata: x\n\n", []string{"|x"}},
		"empty data":             {"data:\n\n", []string{"|"}},
		"no empty line":          {"data: x\n\ndata: y\n", []string{"|x", "|y"}},
		"half a line at the end": {"data: x\n\ndata: y", []string{"|x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, err := read(r)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, tt.want)
				}
			}
		})
	}
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 64<<10)
	tests := map[string]struct {
		once, again string
		want        error
	}{
		"a line":   {"data: ", word, sse.ErrTooLong},
		"an event": {"", "data: " + word + "\n", sse.ErrTooLong},
		"a stream": {"", "data: " + word + "\n\n", sse.ErrTooMuch},
		"comments": {"", ": " + word + "\n\n", sse.ErrTooMuch},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := io.MultiReader(strings.NewReader(tt.once), &endless{text: tt.again})
			if _, err := read(r); !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
		})
	}
}

// endless repeats the same bytes.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	got, err := read(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 1 {
		t.Errorf("got %q, %v, want one event and %v", got, err, io.ErrUnexpectedEOF)
	}
}

// FuzzEvents checks that a stream is decoded the same when it arrives in other pieces, and as
// it was written.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"event: message_start\ndata: {\"type\":\"message_start\"}\n\n: ping\n\ndata: [DONE]\n\n",
		"data: a\r\ndata: b\r\r\n\uFEFF", "\uFEFFdata", "data:\n\n\n\rdata: \r\n", "event\nevent:\ndata: \x00\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := read(strings.NewReader(in))
		if err != nil {
			t.Fatalf("got error %v", err)
		}
		slow, _ := read(iotest.OneByteReader(strings.NewReader(in)))
		if diff := cmp.Diff(got, slow); diff != "" {
			t.Fatalf("read byte by byte it is another stream, want the same: %s", diff)
		}
		var again strings.Builder
		for _, e := range got {
			name, data, _ := strings.Cut(e, "|")
			if strings.ContainsAny(name, "|") || strings.Contains(data, "|") {
				return // the summary is ambiguous
			}
			fmt.Fprintf(&again, "event: %s\ndata: %s\n\n", name, strings.ReplaceAll(data, "\n", "\ndata: "))
		}
		back, err := read(strings.NewReader(again.String()))
		if diff := cmp.Diff(got, back); diff != "" || err != nil {
			t.Fatalf("written and read again it is another stream, want the same: %s %v", diff, err)
		}
	})
}
