package pictures

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// Bounds of messages with pictures.
const (
	// MaxMessage bounds a message with pictures as a client sends it, in bytes.
	MaxMessage = 16 << 20
	// MaxFitted bounds the pictures of a message after scaling, in bytes, before they are encoded as
	// base64.
	MaxFitted = 128 << 10
	// MaxEncoded bounds what the pictures of a message add to it after scaling, in bytes.
	MaxEncoded = MaxFitted*4/3 + MaxPictures*64
	// MaxPictures bounds the pictures of a message that are scaled.
	MaxPictures = 16
	// maxMessages bounds the long messages in memory at once.
	maxMessages = 4
	// minPicture is the length from which on a string in a message may be a picture that is scaled.
	minPicture = 1 << 10
)

// Fitter scales the pictures of messages.
type Fitter struct {
	messages chan struct{} // has room for each long message in memory
	decoding chan struct{} // has room for the picture that is being decoded
}

// NewFitter returns a Fitter.
func NewFitter() *Fitter {
	return &Fitter{messages: make(chan struct{}, maxMessages), decoding: make(chan struct{}, 1)}
}

// Acquire waits until another long message may be read into memory. The caller calls release when it
// does not need the message any more.
func (f *Fitter) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case f.messages <- struct{}{}:
		return func() { <-f.messages }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other messages with pictures: %w", context.Cause(ctx))
	}
}

// HasPicture reports whether the beginning of a message has the beginning of a picture.
func HasPicture(beginning []byte) bool {
	return bytes.Contains(beginning, []byte(urlStart)) || bytes.Contains(beginning, []byte(escapedStart)) ||
		bytes.Contains(beginning, []byte(`"`+imageKey+`"`))
}

const (
	urlStart     = `"data:image/`
	escapedStart = `"data:image\/` // some encoders of JSON escape slashes
	// imageKey is the member that has a picture without the beginning of a data: URL.
	imageKey = "imageData"
)

// span is the content of a string in a message, without the quotes.
type span struct{ from, to int }

// Fit returns a JSON message in which all pictures are small enough. It is the message itself if they
// are already. The error is an [Error], or that of the context.
func (f *Fitter) Fit(ctx context.Context, message []byte) ([]byte, error) {
	found := find(message)
	if len(found) > MaxPictures {
		return nil, refuse("a message has at most %d pictures", MaxPictures)
	}
	raw := make([][]byte, len(found))
	for i, s := range found {
		var err error
		if raw[i], err = parseURL(unescaped(message[s.from:s.to])); err != nil {
			return nil, err
		}
	}
	limits := divide(MaxFitted, raw)
	var out []byte
	done := 0
	for i, s := range found {
		fitted, mediaType, err := f.fitOne(ctx, raw[i], limits[i])
		if err != nil {
			return nil, err
		}
		raw[i] = nil
		out = append(out, message[done:s.from]...)
		if bytes.HasPrefix(message[s.from:], []byte("data:")) {
			out = append(out, "data:"+mediaType+";base64,"...)
		}
		out = base64.StdEncoding.AppendEncode(out, fitted)
		done = s.to
	}
	if len(found) == 0 {
		return message, nil
	}
	return append(out, message[done:]...), nil
}

// Without returns a JSON message without the contents of its pictures.
func Without(message []byte) []byte {
	var out []byte
	done := 0
	for _, s := range find(message) {
		out, done = append(out, message[done:s.from]...), s.to
	}
	return append(out, message[done:]...)
}

// fitOne is [fitOne] for one picture at a time.
func (f *Fitter) fitOne(ctx context.Context, data []byte, limit int) ([]byte, string, error) {
	select {
	case f.decoding <- struct{}{}:
		defer func() { <-f.decoding }()
		return fitOne(data, limit)
	case <-ctx.Done():
		return nil, "", fmt.Errorf("wait for other pictures: %w", context.Cause(ctx))
	}
}

// find returns the strings of a JSON message that are pictures.
func find(message []byte) (found []span) {
	key := ""
	for i := 0; i < len(message); {
		at := bytes.IndexByte(message[i:], '"')
		if at < 0 {
			return found
		}
		s := span{from: i + at + 1}
		if s.to = stringEnd(message, s.from); s.to < 0 {
			return found // not JSON, which the decoder reports
		}
		text := message[s.from:s.to]
		isURL := bytes.HasPrefix(message[s.from-1:], []byte(urlStart)) || bytes.HasPrefix(message[s.from-1:], []byte(escapedStart))
		if len(text) >= minPicture && (isURL || key == imageKey) {
			found = append(found, s)
		}
		i, key = s.to+1, ""
		if rest := bytes.TrimLeft(message[i:min(i+16, len(message))], " \t\r\n"); len(text) < 64 && len(rest) > 0 && rest[0] == ':' {
			key = string(text)
		}
	}
	return found
}

// stringEnd returns the end of the JSON string that begins at from, or -1.
func stringEnd(message []byte, from int) int {
	for i := from; i < len(message); i++ {
		n := bytes.IndexAny(message[i:], `"\`)
		if n < 0 {
			return -1
		}
		if i += n; message[i] == '"' {
			return i
		}
		i++ // the escaped character
	}
	return -1
}

// unescaped returns the text of a string in which at most slashes are escaped, as in all base64.
func unescaped(text []byte) string { return strings.ReplaceAll(string(text), `\/`, "/") }

// divide divides bytes among pictures. No picture gets more than it has; the rest is divided among the
// others.
func divide(room int, raw [][]byte) []int {
	order := make([]int, len(raw))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(raw[a]) - len(raw[b]) })
	limits := make([]int, len(raw))
	for done, i := range order {
		limits[i] = room / (len(raw) - done)
		room -= min(limits[i], len(raw[i]))
	}
	return limits
}
