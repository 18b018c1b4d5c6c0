package hubtest

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"
)

// synPacket returns a packet as the kernel sends it: a SYN from 10.8.255.254:40000 to 10.8.1.1:6379,
// without options.
func synPacket() []byte {
	b, _ := hex.DecodeString("450000280001400040060000" + "0a08fffe" + "0a080101" + "9c4018eb000000010000000050020000" + "00000000")
	readdress(b, [4]byte{10, 8, 255, 254}, [4]byte{10, 8, 1, 1})
	return b
}

// checksumsValid reports whether the checksums of a packet are correct.
func checksumsValid(b []byte) bool {
	pseudo := uint32(sum(b[ipSource:ipHeader], 0)) + tcp + uint32(len(b)-ipHeader)
	return sum(b[:ipHeader], 0) == 0xffff && sum(b[ipHeader:], pseudo) == 0xffff
}

func TestNetworkForwardsBothWays(t *testing.T) {
	t.Parallel()
	n := &Network{rng: rand.New(rand.NewPCG(1, 1))}
	for i := range 3 {
		n.routes = append(n.routes, &Route{network: n, number: byte(i), queues: [2]chan packet{make(chan packet, 1000), make(chan packet, 1000)}})
	}
	r := n.routes[1]
	n.forward(synPacket())
	request := (<-r.queues[up]).b
	if !bytes.Equal(request[ipSource:ipHeader], []byte{10, 8, 1, 2, 127, 0, 0, 1}) || !checksumsValid(request) {
		t.Errorf("the packet arrives as %x, want source 10.8.1.2, target 127.0.0.1 and valid checksums", request)
	}
	readdress(request, [4]byte{127, 0, 0, 1}, [4]byte{10, 8, 1, 2}) // the addresses of the answer
	n.forward(request)
	answer := (<-r.queues[down]).b
	if !bytes.Equal(answer[ipSource:ipHeader], []byte{10, 8, 1, 1, 10, 8, 255, 254}) || !checksumsValid(answer) {
		t.Errorf("the answer arrives as %x, want source 10.8.1.1, target 10.8.255.254 and valid checksums", answer)
	}
	if got, want := r.AddrOf("127.0.0.1:6379"), "10.8.1.1:6379"; got != want {
		t.Errorf("the server is at %s, want %s", got, want)
	}
}

func TestNetworkLosesAndDelays(t *testing.T) {
	t.Parallel()
	n := &Network{rng: rand.New(rand.NewPCG(1, 1))}
	for i := range 2 {
		n.routes = append(n.routes, &Route{network: n, number: byte(i), queues: [2]chan packet{make(chan packet, 2000), make(chan packet, 2000)}})
	}
	r := n.routes[1]
	r.SetFaults(RouteFaults{Delay: time.Hour, Loss: 0.05}, RouteFaults{})
	began := time.Now()
	const packets = 1000
	for range packets {
		n.forward(synPacket())
	}
	if got := len(r.queues[up]); got < 900 || got > 990 {
		t.Errorf("%d of %d packets are queued, want about 950", got, packets)
	}
	if p := <-r.queues[up]; p.due.Sub(began) < time.Hour {
		t.Errorf("a packet arrives after %v, want an hour", p.due.Sub(began))
	}
	before := len(r.queues[up])
	r.SetFaults(RouteFaults{DropAll: true}, RouteFaults{})
	n.forward(synPacket())
	n.forward([]byte("not a packet, but as long as one could be, which is forty bytes"))
	if got := len(r.queues[up]); got != before {
		t.Errorf("packets on a route that drops all: got %d, want 0", got-before)
	}
}
