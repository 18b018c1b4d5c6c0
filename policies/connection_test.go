package policies_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

func win(id wire.WindowID) policies.Key { return policies.Key{Monitor: "monitor-0", Window: id} }

func wins(ids ...wire.WindowID) []policies.Key {
	var keys []policies.Key
	for _, id := range ids {
		keys = append(keys, win(id))
	}
	return keys
}

// connected returns groups made of chains.
func connected(chains ...[]policies.Key) *policies.WindowConnection {
	c := policies.NewWindowConnection()
	for _, chain := range chains {
		for i := range chain[1:] {
			c.Connect(chain[i], chain[i+1])
		}
	}
	return c
}

func checkGroup(t *testing.T, c *policies.WindowConnection, key string, root wire.WindowID, members ...wire.WindowID) {
	t.Helper()
	for _, id := range members {
		got, ok := c.Root(win(id))
		if !ok || got != win(root) || c.AgentKey(win(id)) != key || !slices.Equal(c.Members(win(id)), wins(members...)) {
			t.Errorf("%s: got key %q, root %v, members %v, want %q, %v, %v", id, c.AgentKey(win(id)), got, c.Members(win(id)), key, win(root), wins(members...))
		}
	}
}

func TestUnconnectedWindowHasNoGroup(t *testing.T) {
	t.Parallel()
	c := policies.NewWindowConnection()
	_, ok := c.Root(win("a"))
	if c.Grouped(win("a")) || ok || c.Members(win("a")) != nil || c.AgentKey(win("a")) != "a" {
		t.Error("an unconnected window has a group")
	}
	if got := c.Close(win("a")); got != (policies.CloseResult{Group: "a", Last: true}) {
		t.Errorf("closing an unconnected window: got %+v, want the last one of its group a", got)
	}
}

func TestConnectMakesAGroupWithTheParentAsRoot(t *testing.T) {
	t.Parallel()
	c := connected(wins("p", "c"))
	checkGroup(t, c, "p", "p", "c", "p")
}

func TestChainsAreOneGroup(t *testing.T) {
	t.Parallel()
	checkGroup(t, connected(wins("a", "b", "c")), "a", "a", "a", "b", "c")
	checkGroup(t, connected(wins("a", "b", "c", "d")), "a", "a", "a", "b", "c", "d")
}

func TestClosingAnotherThanTheRootKeepsAgentAndRoot(t *testing.T) {
	t.Parallel()
	c := connected(wins("p", "c", "d"))
	if got := c.Close(win("c")); got != (policies.CloseResult{Group: "p", Root: win("p")}) {
		t.Errorf("closing c: got %+v, want the group p with the root p", got)
	}
	checkGroup(t, c, "p", "p", "d", "p")
}

func TestClosingTheRootPromotesTheFirstByName(t *testing.T) {
	t.Parallel()
	c := connected(wins("m", "z", "b"))
	for _, step := range []struct {
		close wire.WindowID
		want  policies.CloseResult
	}{
		{"m", policies.CloseResult{Group: "m", Root: win("b")}},
		{"b", policies.CloseResult{Group: "m", Root: win("z")}},
		{"z", policies.CloseResult{Group: "m", Last: true}},
	} {
		if got := c.Close(win(step.close)); got != step.want {
			t.Errorf("close %s: %+v, want %+v", step.close, got, step.want)
		}
	}
	if c.Grouped(win("z")) || len(c.Pairs()) != 0 {
		t.Error("the group is still there")
	}
}

func TestGroupsDoNotTouchEachOther(t *testing.T) {
	t.Parallel()
	c := connected(wins("a", "b"), wins("x", "y"))
	c.Close(win("a"))
	checkGroup(t, c, "x", "x", "x", "y")
	if c.Connect(win("x"), win("b")) || c.AgentKey(win("b")) != "a" {
		t.Error("a window changed its group")
	}
	if !c.Connect(win("x"), win("y")) {
		t.Error("connecting again was refused")
	}
}

func TestTheSameIDOnAnotherMonitorIsAnotherWindow(t *testing.T) {
	t.Parallel()
	c := connected(wins("a", "b"))
	elsewhere := policies.Key{Monitor: "monitor-1", Window: "b"}
	if c.Grouped(elsewhere) || c.Connect(win("a"), elsewhere) || c.Connect(win("a"), win("a")) {
		t.Error("a window of another monitor is in the group")
	}
	c.Connect(policies.Key{Monitor: "monitor-1", Window: "a"}, elsewhere)
	c.RemoveMonitor("monitor-0")
	if c.Grouped(win("a")) || !c.Grouped(elsewhere) {
		t.Error("groups after monitor-0 was removed: got others than that of monitor-1, want only that")
	}
}

func TestMembersIsACopy(t *testing.T) {
	t.Parallel()
	c := connected(wins("a", "b"))
	c.Members(win("a"))[0] = win("x")
	checkGroup(t, c, "a", "a", "a", "b")
}

func TestClearRemovesAllGroups(t *testing.T) {
	t.Parallel()
	c := connected(wins("a", "b"), wins("x", "y"))
	c.Clear()
	if len(c.Pairs()) != 0 || c.Grouped(win("a")) {
		t.Errorf("groups after Clear: got %v, want none", c.Pairs())
	}
}

func TestAWindowWithTheNameOfAGroupHasItsAgent(t *testing.T) {
	t.Parallel()
	c := connected(wins("a", "b"))
	c.Close(win("a"))
	// If the reopening of a was not recorded, closing a must not end the agent of b.
	if got := c.Close(win("a")); got.Last || got.Group != "a" {
		t.Errorf("closing a, which is not open: got %+v, want the group a with a window left", got)
	}
	c.Open(win("a"))
	checkGroup(t, c, "a", "b", "a", "b")
	if got := c.Close(win("b")); got.Last || got.Root != win("a") {
		t.Errorf("closing b: got %+v, want the root a and a window left", got)
	}
	if got := c.Close(win("a")); !got.Last {
		t.Errorf("closing a: got %+v, want the last window of its group", got)
	}
}

func TestRestoreRepairsPairs(t *testing.T) {
	t.Parallel()
	c := policies.NewWindowConnection()
	c.Restore([]policies.Pair{
		{Key: win("c"), Group: "g"},
		{Key: win("b"), Group: "g"},
		{Key: win("b"), Group: "h", Root: true},
	})
	checkGroup(t, c, "g", "b", "b", "c")
}

// Windows are opened, by window agents or otherwise, and closed. Each keeps its agent, and the
// agent ends exactly with its last window.
func TestConnectionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := policies.NewWindowConnection()
		agent := make(map[policies.Key]string) // agents of the open windows
		keys := rapid.Custom(func(t *rapid.T) policies.Key {
			return policies.Key{
				Monitor: rapid.SampledFrom([]wire.MonitorID{"monitor-0", "monitor-1"}).Draw(t, "monitor"),
				Window:  rapid.SampledFrom([]wire.WindowID{"a", "b", "c", "d", "e"}).Draw(t, "window"),
			}
		})
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				if _, ok := agent[k]; !ok {
					c.Open(k)
					agent[k] = c.AgentKey(k)
				}
			},
			"open by an agent": func(t *rapid.T) {
				parent, child := keys.Draw(t, "parent"), keys.Draw(t, "child")
				if _, ok := agent[child]; ok || agent[parent] == "" {
					t.Skip("not possible")
				}
				if got := c.Connect(parent, child); got != (parent.Monitor == child.Monitor) {
					t.Fatalf("connecting %v to %v: got %v, want true on the same monitor only", child, parent, got)
				} else if !got {
					c.Open(child)
				}
				agent[child] = c.AgentKey(child)
			},
			"close": func(t *rapid.T) {
				k := keys.Draw(t, "key")
				if _, ok := agent[k]; !ok {
					t.Skip("not open")
				}
				mine := agent[k]
				delete(agent, k)
				others := 0
				for other, key := range agent {
					if other.Monitor == k.Monitor && key == mine {
						others++
					}
				}
				if got := c.Close(k); got.Group != mine || got.Last != (others == 0) {
					t.Fatalf("closing %v with %d others: got %+v, want the group %q, and the last window only without others", k, others, got, mine)
				}
			},
			"restore": func(t *rapid.T) {
				data, err := json.Marshal(c.Pairs())
				if err != nil {
					t.Fatal(err)
				}
				var pairs []policies.Pair
				if err := json.Unmarshal(data, &pairs); err != nil {
					t.Fatal(err)
				}
				fresh := policies.NewWindowConnection()
				fresh.Restore(pairs)
				if diff := cmp.Diff(c.Pairs(), fresh.Pairs()); diff != "" {
					t.Fatalf("pairs after a restore (-want +got):\n%s", diff)
				}
				c = fresh
			},
			"": func(t *rapid.T) {
				for k, key := range agent {
					if c.AgentKey(k) != key {
						t.Fatalf("agent of %v: got %q, want %q as before", k, c.AgentKey(k), key)
					}
					checkMembers(t, c, k, agent)
				}
				for _, p := range c.Pairs() {
					if _, ok := agent[p.Key]; !ok {
						t.Fatalf("pairs: got %v, want only open windows", p.Key)
					}
				}
			},
		})
	})
}

// checkMembers checks that a group consists of exactly the windows with the same agent.
func checkMembers(t *rapid.T, c *policies.WindowConnection, k policies.Key, agent map[policies.Key]string) {
	members := c.Members(k)
	root, ok := c.Root(k)
	if ok != (members != nil) || ok && (!slices.Contains(members, root) || !slices.Contains(members, k)) {
		t.Fatalf("group of %v: got root %v and members %v, want both among the members", k, root, members)
	}
	if !ok {
		members = []policies.Key{k}
	}
	for other := range maps.Keys(agent) {
		same := other.Monitor == k.Monitor && agent[other] == agent[k]
		if same != slices.Contains(members, other) {
			t.Fatalf("members of %v with agent %q: got %v, want %v with agent %q among them: %v", k, agent[k], members, other, agent[other], same)
		}
	}
}
