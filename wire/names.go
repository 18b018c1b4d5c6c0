package wire

// names is a hash table of known names. They are few, so a hash of the length and three
// bytes has few collisions, and it is faster than a hash of the whole name.
type names struct {
	all   []string
	slots []uint8 // 1 + the index of a name, at its hash or in the next free slot; 0 if free
}

func namesOf(all []string) names {
	size := 4
	for size < 4*len(all) {
		size *= 2
	}
	n := names{all, make([]uint8, size)}
	for i, name := range all {
		if name == "" {
			continue // never looked up
		}
		slot := n.slot([]byte(name))
		for n.slots[slot] != 0 {
			slot = (slot + 1) % size
		}
		n.slots[slot] = uint8(i + 1) // a test bounds their number
	}
	return n
}

// find returns the index of a name, or -1 and false.
func (n *names) find(name []byte) (int, bool) {
	if len(name) == 0 || len(n.slots) == 0 {
		return -1, false
	}
	for slot := n.slot(name); n.slots[slot] != 0; slot = (slot + 1) & (len(n.slots) - 1) {
		if i := int(n.slots[slot]) - 1; n.all[i] == string(name) {
			return i, true
		}
	}
	return -1, false
}

func (n *names) slot(name []byte) int {
	h := len(name) + 31*int(name[0]) + 7*int(name[len(name)/2]) + 3*int(name[len(name)-1])
	return h & (len(n.slots) - 1)
}
