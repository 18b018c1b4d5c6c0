package store

// OpKind selects the change that an [Op] makes.
type OpKind uint8

// The changes that a batch can make to tables and lists.
const (
	OpSet       OpKind = iota + 1 // table: set a field
	OpUnset                       // table: remove a field
	OpClear                       // table: remove all fields
	OpPush                        // list: append values
	OpReplace                     // list: overwrite the item at an index
	OpKeepLast                    // list: remove all but the newest n items
	OpKeepFirst                   // list: remove all but the oldest n items
	OpDrop                        // list: remove all items
)

// Op is one change of a table or a list. The functions below construct it.
type Op struct {
	Kind   OpKind
	Name   string
	Field  string   // for tables
	Values [][]byte // one; any number for OpPush
	N      int      // the index of OpReplace, the bound of OpKeepLast and OpKeepFirst
	// Schema is the schema version that a program must know to read the values; 0 means
	// that of the engine, see [Schema.SealAs].
	Schema uint8
}

// Set writes a field of a table.
func Set(table, field string, value []byte) Op {
	return Op{Kind: OpSet, Name: table, Field: field, Values: [][]byte{value}}
}

// Unset removes a field of a table. A missing field is not an error.
func Unset(table, field string) Op { return Op{Kind: OpUnset, Name: table, Field: field} }

// Clear removes every field of a table.
func Clear(table string) Op { return Op{Kind: OpClear, Name: table} }

// Push appends values to a list.
func Push(list string, values ...[]byte) Op {
	return Op{Kind: OpPush, Name: list, Values: values}
}

// Replace overwrites one item of a list. Negative indexes count from the end, -1 being the
// newest item. An index outside the list changes nothing: the list may have been bounded
// since the caller read it.
func Replace(list string, index int, value []byte) Op {
	return Op{Kind: OpReplace, Name: list, N: index, Values: [][]byte{value}}
}

// KeepLast bounds a list to its newest n items.
func KeepLast(list string, n int) Op { return Op{Kind: OpKeepLast, Name: list, N: n} }

// KeepFirst bounds a list to its oldest n items, as rewinding does.
func KeepFirst(list string, n int) Op { return Op{Kind: OpKeepFirst, Name: list, N: n} }

// Drop removes all items of a list.
func Drop(list string) Op { return Op{Kind: OpDrop, Name: list} }
