package gateway_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// Messages arrive once and in order, in single or fragmented frames, with pings in between, and
// however the bytes are split.
func TestFramesOfAllKindsInOrder(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	const messages = 24
	for _, cut := range []int{1, 3, 64, 1 << 20} {
		var all []byte
		frame := func(first byte, text string) {
			mask := [4]byte{byte(len(all)), 0x5a, 0, 0xff}
			all = append(all, first, 0x80|126)
			all = binary.BigEndian.AppendUint16(all, uint16(len(text)))
			all = append(all, mask[:]...)
			for i := range len(text) {
				all = append(all, text[i]^mask[i%4])
			}
		}
		var want []string
		for i := range messages {
			name := fmt.Sprintf("cut-%d-%d", cut, i)
			text := `{"type":"EMIT","data":{"actions":[{"type":"app.badge","appId":"mail","count":` + strconv.Itoa(i+1) + `}],"messageId":"` + name + `"}}`
			want = append(want, name)
			switch i % 4 {
			case 0:
				frame(0x81, text)
			case 1:
				frame(0x81, text)
				frame(0x8a, "")
				frame(0x8a, "pong")
			case 2:
				frame(0x01, text[:i])
				frame(0x89, "ping")
				frame(0x80, text[i:])
			case 3:
				frame(0x89, "")
				frame(0x81, text)
			}
		}
		raw := h.dialRaw(id)
		go func() {
			for part := range slices.Chunk(all, cut) {
				if _, err := raw.conn.Write(part); err != nil {
					return // the other end reports it
				}
			}
		}()
		emitted := regexp.MustCompile(`"EMITTED".*"messageId":"(cut-[^"]*)"`)
		var got []string
		for r := bufio.NewReader(raw.conn); len(got) < messages; {
			text, err := r.ReadString('}')
			if err == io.EOF {
				t.Fatalf("frames cut at %d: got closed after %v, want %d answers", cut, got, messages)
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := emitted.FindStringSubmatch(text); m != nil {
				got = append(got, m[1])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("cut at %d: answers to %v, want %v", cut, got, want)
		}
	}
}
