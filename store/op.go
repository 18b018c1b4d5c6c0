package store

// OpKind says what an [Op] does.
type OpKind uint8

// The changes a batch can make to tables and lists.
const (
	OpSet       OpKind = iota + 1 // table: field takes a value
	OpUnset                       // table: field goes
	OpClear                       // table: all fields go
	OpPush                        // list: values are added at the end
	OpReplace                     // list: the item at an index takes a value
	OpKeepLast                    // list: only the newest n items stay
	OpKeepFirst                   // list: only the oldest n items stay
	OpDrop                        // list: all items go
)

// Op is one change of a table or a list. Make it with the functions below.
type Op struct {
	Kind   OpKind
	Name   string
	Field  string   // of a table
	Values [][]byte // one, but for OpPush
	N      int      // an index or a count
}

// Set gives a field of a table a value.
func Set(table, field string, value []byte) Op {
	return Op{Kind: OpSet, Name: table, Field: field, Values: [][]byte{value}}
}

// Unset removes a field of a table. A field that is not there is no error.
func Unset(table, field string) Op { return Op{Kind: OpUnset, Name: table, Field: field} }

// Clear removes every field of a table.
func Clear(table string) Op { return Op{Kind: OpClear, Name: table} }

// Push adds values at the end of a list.
func Push(list string, values ...[]byte) Op {
	return Op{Kind: OpPush, Name: list, Values: values}
}

// Replace changes one item of a list. Negative indexes count from the end, -1
// being the newest item. An index outside the list changes nothing: the list
// may have been bounded since the caller looked.
func Replace(list string, index int, value []byte) Op {
	return Op{Kind: OpReplace, Name: list, N: index, Values: [][]byte{value}}
}

// KeepLast bounds a list to its newest n items.
func KeepLast(list string, n int) Op { return Op{Kind: OpKeepLast, Name: list, N: n} }

// KeepFirst bounds a list to its oldest n items, which is how one rewinds.
func KeepFirst(list string, n int) Op { return Op{Kind: OpKeepFirst, Name: list, N: n} }

// Drop removes a whole list.
func Drop(list string) Op { return Op{Kind: OpDrop, Name: list} }
