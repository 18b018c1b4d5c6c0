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

// Lines is a network with packet delay and loss, below TCP. It replaces netem on kernels
// without it: every packet passes through this process. It needs its own network namespace,
// see [Plan.Apart].
//
// A server on the loopback interface is reached over line n as 10.8.n.1, with its port. The
// addresses are rewritten on the way, so that the server sees 10.8.n.2 as its client and
// its answers take the same line back.
type Lines struct {
	tun *os.File
	wg  sync.WaitGroup

	mu    sync.Mutex // guards the following, and the random source
	rng   *rand.Rand
	lines []*Line
}

// Line is one route to all servers on the loopback interface.
type Line struct {
	net    *Lines
	number byte
	queues [2]chan packet

	ways [2]Way // guarded by net.mu
}

// Way describes the treatment of packets in one direction. The zero value is a perfect
// network.
type Way struct {
	Delay time.Duration
	Loss  float64 // from 0 to 1
	Cut   bool    // nothing arrives
}

// The directions of a line.
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
	lineQueue = 4096 // packets in flight in one direction; more are dropped
	tunName   = "lines0"
	netPrefix = "10.8."
	// offsets of IPv4 and TCP headers.
	ipProtocol, ipChecksum, ipSource, ipTarget = 9, 10, 12, 16
	tcpChecksum                                = 16
	ipHeader, tcp                              = 20, 6
)

// NewLines starts a network without lines, which ends with the test. rng decides which packets
// are lost.
func NewLines(tb testing.TB, rng *rand.Rand) *Lines {
	tb.Helper()
	if os.Getenv(apartEnv) == "" {
		tb.Fatal("lines are for a network namespace")
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
	n := &Lines{tun: tun, rng: rng}
	n.wg.Go(n.read)
	tb.Cleanup(func() {
		_ = tun.Close()
		n.mu.Lock()
		for _, l := range n.lines {
			close(l.queues[up])
			close(l.queues[down])
		}
		n.lines = nil
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

// Line adds a line without delay and loss.
func (n *Lines) Line() *Line {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &Line{net: n, number: byte(len(n.lines))} //nolint:gosec // tests have few
	for i := range l.queues {
		queue := make(chan packet, lineQueue)
		l.queues[i] = queue
		n.wg.Go(func() {
			for p := range queue {
				<-time.After(time.Until(p.due))
				_, _ = n.tun.Write(p.b) // the device may be closed
			}
		})
	}
	n.lines = append(n.lines, l)
	return l
}

// To returns the address of a loopback server over this line.
func (l *Line) To(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr // dialing it reports the error
	}
	return net.JoinHostPort(netip.AddrFrom4([4]byte{10, 8, l.number, 1}).String(), port)
}

// Set sets the treatment of packets to and from servers.
func (l *Line) Set(toServer, fromServer Way) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	l.ways = [2]Way{toServer, fromServer}
}

func (n *Lines) read() {
	buf := make([]byte, 1<<16)
	for {
		size, err := n.tun.Read(buf)
		if err != nil {
			return
		}
		n.route(buf[:size])
	}
}

// route puts a packet into the queue of its line, unless the packet is lost or the queue is full.
// It ignores packets that are not TCP over IPv4 without options.
func (n *Lines) route(b []byte) {
	if len(b) < ipHeader+20 || b[0] != 0x45 || b[ipProtocol] != tcp || b[ipTarget] != 10 || b[ipTarget+1] != 8 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	number := int(b[ipTarget+2])
	if number >= len(n.lines) {
		return
	}
	l := n.lines[number]
	way := up
	source, target := [4]byte{10, 8, l.number, 2}, [4]byte{127, 0, 0, 1}
	if b[ipTarget+3] == 2 {
		way = down
		source, target = [4]byte{10, 8, l.number, 1}, [4]byte{10, 8, 255, 254}
	}
	w := l.ways[way]
	if w.Cut || w.Loss > 0 && n.rng.Float64() < w.Loss {
		return
	}
	p := packet{b: append([]byte(nil), b...), due: time.Now().Add(w.Delay)}
	readdress(p.b, source, target)
	select {
	case l.queues[way] <- p:
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
