package hubtest

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Network is a network with packet delay and loss, below TCP. It replaces netem on kernels
// without it: every packet passes through this process. It needs its own network namespace,
// see [Plan.RunInNamespace].
//
// A server on the loopback interface is reached over route n as 10.8.n.1, with its port. The
// addresses are rewritten on the way, so that the server sees 10.8.n.2 as its client and
// its answers take the same route back.
type Network struct {
	tun *os.File
	wg  sync.WaitGroup

	mu     sync.Mutex // guards the following, and the random source
	rng    *rand.Rand
	routes []*Route
}

// Route is one route to all servers on the loopback interface.
type Route struct {
	network *Network
	number  byte
	queues  [2]chan packet

	faults [2]RouteFaults // guarded by net.mu
}

// RouteFaults describes the delay and the loss of packets in one direction. The zero value is a perfect
// network.
type RouteFaults struct {
	Delay   time.Duration
	Loss    float64 // from 0 to 1
	DropAll bool    // nothing arrives
}

// The directions of a route.
const (
	up   = iota // to servers
	down        // from servers
)

// packet is a packet in flight and the time of its delivery.
type packet struct {
	b   []byte
	due time.Time
}

const (
	routeQueue = 4096 // packets in flight in one direction; more are dropped
	tunName    = "routes0"
	netPrefix  = "10.8."
	// offsets of IPv4 and TCP headers.
	ipProtocol, ipChecksum, ipSource, ipTarget = 9, 10, 12, 16
	tcpChecksum                                = 16
	ipHeader, tcp                              = 20, 6
)

// NewNetwork starts a network without routes, which ends with the test. rng decides which packets
// are lost.
func NewNetwork(tb testing.TB, rng *rand.Rand) *Network {
	tb.Helper()
	if os.Getenv(namespaceEnv) == "" {
		tb.Fatal("NewNetwork needs a network namespace: call Plan.RunInNamespace")
	}
	tun, err := openTun()
	if err != nil {
		tb.Fatalf("open a network device: %v", err)
	}
	ip(tb, "link", "set", "lo", "up")
	ip(tb, "addr", "add", netPrefix+"255.254/16", "dev", tunName)
	ip(tb, "link", "set", tunName, "up")
	// Packets for 127.0.0.1 may come from this device.
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+tunName+"/route_localnet", []byte("1"), 0o600); err != nil {
		tb.Fatal(err)
	}
	n := &Network{tun: tun, rng: rng}
	n.wg.Go(n.read)
	tb.Cleanup(func() {
		_ = tun.Close()
		n.mu.Lock()
		for _, r := range n.routes {
			close(r.queues[up])
			close(r.queues[down])
		}
		n.routes = nil
		n.mu.Unlock()
		n.wg.Wait()
	})
	return n
}

// openTun creates the device whose packets this process forwards.
func openTun() (*os.File, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], tunName)
	request.flags = syscall.IFF_TUN | syscall.IFF_NO_PI
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request))) //nolint:gosec // there is no other way
	if errno != 0 {
		return nil, errors.Join(errno, syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), tunName), nil
}

// AddRoute adds a route without delay and loss.
func (n *Network) AddRoute() *Route {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &Route{network: n, number: byte(len(n.routes))} //nolint:gosec // tests have few
	for i := range r.queues {
		queue := make(chan packet, routeQueue)
		r.queues[i] = queue
		n.wg.Go(func() {
			for p := range queue {
				<-time.After(time.Until(p.due))
				_, _ = n.tun.Write(p.b) // the device may be closed
			}
		})
	}
	n.routes = append(n.routes, r)
	return r
}

// AddrOf returns the address of a loopback server over this route.
func (r *Route) AddrOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr // dialing it reports the error
	}
	return net.JoinHostPort(netip.AddrFrom4([4]byte{10, 8, r.number, 1}).String(), port)
}

// SetFaults sets the faults of packets to and from servers.
func (r *Route) SetFaults(toServer, fromServer RouteFaults) {
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	r.faults = [2]RouteFaults{toServer, fromServer}
}

func (n *Network) read() {
	buf := make([]byte, 1<<16)
	for {
		size, err := n.tun.Read(buf)
		if err != nil {
			return
		}
		n.forward(buf[:size])
	}
}

// forward puts a packet into the queue of its route, unless the packet is lost or the queue is full.
// It ignores packets that are not TCP over IPv4 without options.
func (n *Network) forward(b []byte) {
	if len(b) < ipHeader+20 || b[0] != 0x45 || b[ipProtocol] != tcp || b[ipTarget] != 10 || b[ipTarget+1] != 8 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	number := int(b[ipTarget+2])
	if number >= len(n.routes) {
		return
	}
	r := n.routes[number]
	direction := up
	source, target := [4]byte{10, 8, r.number, 2}, [4]byte{127, 0, 0, 1}
	if b[ipTarget+3] == 2 {
		direction = down
		source, target = [4]byte{10, 8, r.number, 1}, [4]byte{10, 8, 255, 254}
	}
	w := r.faults[direction]
	if w.DropAll || w.Loss > 0 && n.rng.Float64() < w.Loss {
		return
	}
	p := packet{b: append([]byte(nil), b...), due: time.Now().Add(w.Delay)}
	readdress(p.b, source, target)
	select {
	case r.queues[direction] <- p:
	default:
	}
}

// readdress replaces the addresses of a TCP packet and recomputes its checksums.
func readdress(b []byte, source, target [4]byte) {
	copy(b[ipSource:], source[:])
	copy(b[ipTarget:], target[:])
	b[ipChecksum], b[ipChecksum+1] = 0, 0
	binary.BigEndian.PutUint16(b[ipChecksum:], ^sum(b[:ipHeader], 0))
	segment := b[ipHeader:]
	segment[tcpChecksum], segment[tcpChecksum+1] = 0, 0
	pseudo := uint32(sum(b[ipSource:ipHeader], 0)) + tcp + uint32(len(segment)) //nolint:gosec // a packet is short
	binary.BigEndian.PutUint16(segment[tcpChecksum:], ^sum(segment, pseudo))
}

// sum returns the ones' complement sum of b and s; its complement is the Internet checksum.
func sum(b []byte, s uint32) uint16 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}
