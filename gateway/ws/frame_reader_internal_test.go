package ws

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/broadcast"
)

// clientFrame returns a masked frame.
func clientFrame(first byte, text string) []byte {
	mask := [maskBytes]byte{0x12, 0xfe, 0x00, 0x81}
	b := []byte{first}
	if len(text) < length16 {
		b = append(b, maskBit|byte(len(text)))
	} else {
		b = binary.BigEndian.AppendUint16(append(b, maskBit|length16), uint16(len(text)))
	}
	b = append(b, mask[:]...)
	for i := range len(text) {
		b = append(b, text[i]^mask[i%maskBytes])
	}
	return b
}

func TestParseTextFrame(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 3, 7, 8, 9, 31, 125, 126, 127, 1000, 65535} {
		want := strings.Repeat("frames of text ", 5000)[:size]
		whole := clientFrame(finalText, want)
		for _, behind := range []string{"", "x", "the next frame"} {
			masked, mask, end := parseTextFrame(append(bytes.Clone(whole), behind...))
			if text := appendUnmasked(nil, masked, mask); string(text) != want || end != len(whole) {
				t.Fatalf("frame of %d bytes: got %q, up to %d, want %q, up to %d", size, text, end, want, len(whole))
			}
		}
		for n := 0; n < len(whole); n += 1 + size/100 {
			if text, _, end := parseTextFrame(whole[:n]); end != 0 {
				t.Fatalf("%d of %d bytes: got %q as a frame, want none", n, len(whole), text)
			}
		}
	}
}

// Special frames are left to the library.
func TestSpecialFramesAreLeft(t *testing.T) {
	t.Parallel()
	plain := clientFrame(finalText, "text")
	special := map[string][]byte{
		"unmasked":       {finalText, 4, 't', 'e', 'x', 't', '1', '2', '3', '4'},
		"of eight bytes": append([]byte{finalText, maskBit | length64, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0}, "text"...),
	}
	for first := range 256 {
		if first != finalText {
			special[string(rune(first))] = slices.Concat([]byte{byte(first)}, plain[1:])
		}
	}
	for name, frame := range special {
		if text, _, end := parseTextFrame(frame); end != 0 {
			t.Errorf("%s: got %q as a frame in %x, want none", name, text, frame)
		}
	}
}

func TestPongFrames(t *testing.T) {
	t.Parallel()
	longest := append([]byte{0x8a, 0x80 | 125, 1, 2, 3, 4}, make([]byte, 125)...)
	for name, c := range map[string]struct {
		data []byte
		end  int
	}{
		"empty":             {[]byte{0x8a, 0x80, 1, 2, 3, 4}, 6},
		"with words":        {[]byte{0x8a, 0x82, 1, 2, 3, 4, 5, 6}, 8},
		"and more":          {[]byte{0x8a, 0x80, 1, 2, 3, 4, 0x81}, 6},
		"the longest":       {longest, len(longest)},
		"cut off":           {longest[:len(longest)-1], 0},
		"its head cut off":  {[]byte{0x8a, 0x80, 1}, 0},
		"too long":          {[]byte{0x8a, 0xfe, 0, 126, 1, 2, 3, 4}, 0},
		"not masked":        {[]byte{0x8a, 0x04, 1, 2, 3, 4}, 0},
		"only a part":       {[]byte{0x0a, 0x80, 1, 2, 3, 4}, 0},
		"with bits of ours": {[]byte{0xca, 0x80, 1, 2, 3, 4}, 0},
		"a ping":            {[]byte{0x89, 0x80, 1, 2, 3, 4}, 0},
		"nothing":           {nil, 0},
	} {
		if got := parsePongFrame(c.data); got != c.end {
			t.Errorf("%s: ends at %d, want %d", name, got, c.end)
		}
	}
}

// A ping of which only a part has arrived is completed before the library would have to read it, and what
// follows is kept.
func TestPartOfAPingIsCompleted(t *testing.T) {
	t.Parallel()
	frame := append(clientFrame(finalPing, "are you there?"), clientFrame(finalText, "text")...)
	for n := 1; n < len(frame); n++ {
		server, client := socketPair(t)
		l := &link{Socket: broadcast.Socket{Conn: server}, resources: newConnResources(nil), unread: bytes.Clone(frame[:n])}
		l.initRawConn()
		if _, err := client.Write(frame[n:]); err != nil {
			t.Fatal(err)
		}
		if err := l.waitReadable(); err != nil {
			t.Fatal(err)
		}
		masked, mask, end := parsePingFrame(l.unread)
		if got := string(appendUnmasked(nil, masked, mask)); end == 0 || got != "are you there?" {
			t.Fatalf("after %d bytes: got a ping with %q, want one with %q", n, got, "are you there?")
		}
		l.consume(end)
		text := make([]byte, len(frame)-end)
		if _, err := io.ReadFull(l, text); err != nil || !bytes.Equal(text, frame[end:]) {
			t.Fatalf("after %d bytes: got %x and %v behind the ping, want %x", n, text, err, frame[end:])
		}
	}
}

// Only pings and pongs that a client may send are waited for.
func TestPartsOfControlFrames(t *testing.T) {
	t.Parallel()
	whole := clientFrame(finalPong, "x")
	for name, c := range map[string]struct {
		data []byte
		want bool
	}{
		"nothing":     {nil, false},
		"one byte":    {whole[:1], true},
		"all but one": {whole[:len(whole)-1], true},
		"all":         {whole, false},
		"and more":    {append(bytes.Clone(whole), 1), false},
		"text":        {[]byte{finalText}, false},
		"a close":     {[]byte{closeFrameByte}, false},
		"not masked":  {[]byte{finalPing, 3}, false},
		"too long":    {[]byte{finalPing, maskBit | length16}, false},
	} {
		if got := isPartOfControl(c.data); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// socketPair returns both ends of a connection.
func socketPair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if client, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server, client
}
