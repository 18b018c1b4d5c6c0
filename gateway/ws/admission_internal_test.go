package ws

import "testing"

// otherReplicas are replicas with some connections of each user.
type otherReplicas struct{ tabs int }

func (o otherReplicas) ConnectionsElsewhere(string) int { return o.tabs }

// A client that reconnects may be counted twice, but not more often.
func TestConnectionSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ most, elsewhere, fresh, back int }{
		{10, 0, 10, 10},
		{10, 4, 6, 10},
		{10, 10, 0, 10},
		{10, 14, 0, 6},
		{10, 20, 0, 0},
		{10, 99, 0, 0},
		{-1, 99, -1, -1},
	} {
		s := &admission{userConnections: test.most, members: otherReplicas{tabs: test.elsewhere}}
		if fresh, back := s.connectionLimit("ann", false), s.connectionLimit("ann", true); fresh != test.fresh || back != test.back {
			t.Errorf("%+v: got %d for new clients and %d for reconnecting ones, want %d and %d", test, fresh, back, test.fresh, test.back)
		}
	}
	if got := (&admission{userConnections: 3}).connectionLimit("ann", false); got != 3 {
		t.Errorf("limit without other replicas: got %d, want 3", got)
	}
}
