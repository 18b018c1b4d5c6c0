package profiles

import (
	"reflect"
	"testing"
)

// Whatever is stored, decoding does not panic, lists only valid profiles, and encoding it again changes
// nothing that is listed.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"profiles":[]}`, `{"profiles":[{"id":"a","name":"A","backend":"demo","prices":{"input":1,"currency":"USD"}}],"roles":{"main":"a"}}`,
		`{"profiles":[{"ID":"a","id":"b","name":"A","backend":"demo","x":null},7,null,[]],"y":[1]}`, `{"roles":{"main":7,"":"a"}}`, `null`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := decode(data)
		if err != nil {
			return
		}
		before := d.view(nil, 1)
		for _, p := range before.Profiles {
			if err := p.Check(); err != nil {
				t.Errorf("a listed profile is not valid: %v", err)
			}
		}
		stored, err := d.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(stored)
		if err != nil {
			t.Fatalf("encoded as %s, which cannot be decoded: %v", stored, err)
		}
		if after := again.view(nil, 1); !reflect.DeepEqual(before, after) {
			t.Errorf("got %+v after encoding, want %+v", after, before)
		}
	})
}
