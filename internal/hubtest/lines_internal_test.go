package hubtest

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"
)

// syn returns a packet as the kernel sends it: a SYN from 10.8.255.254:40000 to 10.8.1.1:6379,
// without options.
func syn() []byte {
	b, _ := hex.DecodeString("450000280001400040060000" + "0a08fffe" + "0a080101" + "9c4018eb000000010000000050020000" + "00000000")
	readdress(b, [4]byte{10, 8, 255, 254}, [4]byte{10, 8, 1, 1})
	return b
}

// intact reports whether the checksums of a packet are correct.
func intact(b []byte) bool {
	pseudo := uint32(sum(b[ipSource:ipHeader], 0)) + tcp + uint32(len(b)-ipHeader)
	return sum(b[:ipHeader], 0) == 0xffff && sum(b[ipHeader:], pseudo) == 0xffff
}

func TestLinesGoThereAndBack(t *testing.T) {
	t.Parallel()
	n := &Lines{rng: rand.New(rand.NewPCG(1, 1))}
	for i := range 3 {
		n.lines = append(n.lines, &Line{net: n, number: byte(i), queues: [2]chan packet{make(chan packet, 1000), make(chan packet, 1000)}})
	}
	l := n.lines[1]
	n.route(syn())
	there := (<-l.queues[up]).b
	if !bytes.Equal(there[ipSource:ipHeader], []byte{10, 8, 1, 2, 127, 0, 0, 1}) || !intact(there) {
		t.Errorf("the packet arrives as %x", there)
	}
	readdress(there, [4]byte{127, 0, 0, 1}, [4]byte{10, 8, 1, 2}) // the addresses of the answer
	n.route(there)
	back := (<-l.queues[down]).b
	if !bytes.Equal(back[ipSource:ipHeader], []byte{10, 8, 1, 1, 10, 8, 255, 254}) || !intact(back) {
		t.Errorf("the answer arrives as %x", back)
	}
	if got, want := l.To("127.0.0.1:6379"), "10.8.1.1:6379"; got != want {
		t.Errorf("the server is at %s, want %s", got, want)
	}
}

func TestLinesLoseAndDelay(t *testing.T) {
	t.Parallel()
	n := &Lines{rng: rand.New(rand.NewPCG(1, 1))}
	for i := range 2 {
		n.lines = append(n.lines, &Line{net: n, number: byte(i), queues: [2]chan packet{make(chan packet, 2000), make(chan packet, 2000)}})
	}
	l := n.lines[1]
	l.Set(Way{Delay: time.Hour, Loss: 0.05}, Way{})
	began := time.Now()
	const packets = 1000
	for range packets {
		n.route(syn())
	}
	if got := len(l.queues[up]); got < 900 || got > 990 {
		t.Errorf("%d of %d packets are on their way, want about 950", got, packets)
	}
	if p := <-l.queues[up]; p.due.Sub(began) < time.Hour {
		t.Errorf("a packet arrives after %v, want an hour", p.due.Sub(began))
	}
	before := len(l.queues[up])
	l.Set(Way{Cut: true}, Way{})
	n.route(syn())
	n.route([]byte("not a packet, but as long as one could be, which is forty bytes"))
	if got := len(l.queues[up]); got != before {
		t.Errorf("%d packets passed a line that is cut", got-before)
	}
}
