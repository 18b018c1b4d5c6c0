package wire

// names finds names that are known beforehand. They are few, so that their
// lengths and some of their letters nearly tell them apart, which takes less time
// than to hash the whole of them.
type names struct {
	all   []string
	slots []uint8 // 1 + the index of a name, at its hash or behind
}

func namesOf(all []string) names {
	size := 4
	for size < 4*len(all) {
		size *= 2
	}
	n := names{all, make([]uint8, size)}
	for i, name := range all {
		if name == "" {
			continue // nobody looks for that
		}
		slot := n.slot([]byte(name))
		for n.slots[slot] != 0 {
			slot = (slot + 1) % size
		}
		n.slots[slot] = uint8(i + 1) // a test counts them
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
