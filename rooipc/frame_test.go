package rooipc_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/everdesk/everdesk/rooipc"
)

// readFrames returns all frames and the error at the end.
func readFrames(r io.Reader) (frames []string, err error) {
	for in := bufio.NewReaderSize(r, 64); ; {
		frame, err := rooipc.ReadFrame(in)
		if err != nil {
			return frames, err
		}
		frames = append(frames, string(frame))
	}
}

func TestFramesEndAtTheirDelimiter(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("말", 400<<10) + `"` // more than 1 MiB
	for name, c := range map[string]struct {
		in   string
		want []string
		end  error
	}{
		"one":            {"{}\f", []string{"{}"}, io.EOF},
		"two":            {"{}\f[]\f", []string{"{}", "[]"}, io.EOF},
		"one and a half": {"{}\f[", []string{"{}"}, io.ErrUnexpectedEOF},
		"line break":     {"{}\f\n[]\f\n", []string{"{}", "[]"}, io.EOF},
		"empty":          {"\f\f \f{}\f", []string{"{}"}, io.EOF},
		"nothing":        {"", nil, io.EOF},
		"long":           {long + "\f{}\f", []string{long, "{}"}, io.EOF},
		"too long":       {strings.Repeat("x", rooipc.MaxFrame+1) + "\f", nil, rooipc.ErrFrameTooLarge},
		"as long as may": {strings.Repeat("x", rooipc.MaxFrame) + "\f", []string{strings.Repeat("x", rooipc.MaxFrame)}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readFrames(strings.NewReader(c.in))
			if !slices.Equal(got, c.want) || !errors.Is(err, c.end) {
				t.Errorf("%d frames, error %v, want %d and %v", len(got), err, len(c.want), c.end)
			}
			if len(c.in) > 1<<20 {
				return // byte by byte takes too long
			}
			if got, err := readFrames(iotest.OneByteReader(strings.NewReader(c.in))); !slices.Equal(got, c.want) || !errors.Is(err, c.end) {
				t.Errorf("byte by byte %q, error %v, want %q and %v", got, err, c.want, c.end)
			}
		})
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("{}\f{\"type\":\"message\",\"data\":{\"type\":\"TaskCommand\",\"origin\":\"client\",\"clientId\":\"a\",\"data\":{\"commandName\":\"CancelTask\"}}}\f"))
	f.Add([]byte("{}\f\n\f\f[1"))
	f.Add([]byte(`{"type":"message","data":{"type":"TaskCommand","origin":"client","clientId":"a","data":{"commandName":"StartNewTask","data":{"text":"a","configuration":{"allowedMaxCost":null}}}}}` + "\f"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := readFrames(bytes.NewReader(in))
		pieces, pieceErr := readFrames(iotest.HalfReader(bytes.NewReader(in)))
		if !slices.Equal(whole, pieces) || !errors.Is(err, pieceErr) {
			t.Fatalf("%q, %v in pieces, want %q, %v", pieces, pieceErr, whole, err)
		}
		for _, frame := range whole {
			if strings.Contains(frame, "\f") || frame == "" {
				t.Fatalf("frame %q, want one without a delimiter", frame)
			}
			c, ok, err := rooipc.ParseCommand([]byte(frame))
			if err != nil && ok || ok && c.Name == "" {
				t.Fatalf("frame %q: command %+v, ok %v, error %v", frame, c, ok, err)
			}
		}
	})
}
