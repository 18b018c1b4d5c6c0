package gateway_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// maxHostileAlloc bounds what a hostile file may make the hub, the client and the test allocate, in bytes. It is far
// below the size of the content.
const maxHostileAlloc = 96 << 20

// zipBomb returns a zip of one file with that many zeros.
func zipBomb(t *testing.T, name string, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	writeZeros(t, z, name, size)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writeZeros adds a file of zeros to a zip, and returns the hash of its content. It compresses one block and repeats it,
// because to compress all of them takes minutes.
func writeZeros(t *testing.T, z *zip.Writer, name string, size int64) (sum string) {
	t.Helper()
	zeros := make([]byte, 1<<20)
	if size%int64(len(zeros)) != 0 {
		t.Fatalf("size: got %d, want a multiple of %d", size, len(zeros))
	}
	var block bytes.Buffer
	w, err := flate.NewWriter(&block, flate.BestCompression)
	if err == nil {
		_, err = w.Write(zeros)
	}
	if err = errors.Join(err, w.Flush()); err != nil { // a flushed block needs nothing of those before it
		t.Fatal(err)
	}
	blocks := int(size) / len(zeros)
	packed := append(bytes.Repeat(block.Bytes(), blocks), 1, 0, 0, 0xff, 0xff) // an empty last block
	hash, check := sha256.New(), crc32.NewIEEE()
	for range blocks {
		_, _ = hash.Write(zeros)
		_, _ = check.Write(zeros)
	}
	f, err := z.CreateRaw(&zip.FileHeader{
		Name: name, Method: zip.Deflate, CRC32: check.Sum32(), CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(size),
	})
	if err == nil {
		_, err = f.Write(packed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// withBomb returns a session file with one file more, of that many zeros. It claims that the file has the given size.
func withBomb(t *testing.T, data []byte, size, claimed int64) []byte {
	t.Helper()
	const name = "files/zeros.bin"
	var meta sessionfile.Metadata
	if err := json.Unmarshal([]byte(partOf(t, data, "metadata.json")), &meta); err != nil {
		t.Fatal(err)
	}
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	meta.Parts[name] = sessionfile.Part{Bytes: claimed, SHA256: writeZeros(t, out, name, size)}
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range in.File {
		part := []byte(partOf(t, data, f.Name))
		if f.Name == "metadata.json" {
			part = text
		}
		w, err := out.Create(f.Name)
		if err == nil {
			_, err = w.Write(part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A zip bomb is a file as any other: the hub never unpacks it. One that pretends to be a session file is refused
// before it is unpacked as a whole.
func TestAttackZipBomb(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	const inflated = 1 << 30
	bomb := zipBomb(t, "zeros", inflated)
	if len(bomb) > 2<<20 {
		t.Fatalf("size of the bomb: got %d bytes, want at most 2 MiB", len(bomb))
	}
	var export []byte
	growth := allocatedBy(func() {
		h.rest(http.MethodPut, sessionPath(id, "/files/bomb.zip"), request{token: ada, body: string(bomb)}).wantStatus(http.StatusCreated)
		if got := h.get(sessionPath(id, "/files/bomb.zip"), ada).wantStatus(http.StatusOK); !bytes.Equal(got.body, bomb) {
			t.Errorf("download: got %d bytes, want the %d of the bomb", len(got.body), len(bomb))
		}
		all := h.get(sessionPath(id, "/files.zip"), ada).wantStatus(http.StatusOK).body
		if got := partOf(t, all, "bomb.zip"); got != string(bomb) {
			t.Errorf("download of all: got %d bytes, want the %d of the bomb", len(got), len(bomb))
		}
		export = h.get(sessionPath(id, "/export"), ada).wantStatus(http.StatusOK).body
		var copied struct{ SessionID wire.SessionID }
		h.importFile(ada, "", export).wantStatus(http.StatusCreated).decode(&copied)
		if got := h.get(sessionPath(copied.SessionID, "/files/bomb.zip"), ada).wantStatus(http.StatusOK); !bytes.Equal(got.body, bomb) {
			t.Errorf("import: got %d bytes, want the %d of the bomb", len(got.body), len(bomb))
		}
	})
	if growth > maxHostileAlloc {
		t.Errorf("upload, download, export and import: got %d MiB allocated, want at most %d", growth>>20, maxHostileAlloc>>20)
	}

	sessions := h.get("/api/sessions", ada).wantStatus(http.StatusOK).body
	for name, claimed := range map[string]int64{"its true size": inflated, "a small size": 1000} {
		file := withBomb(t, export, inflated, claimed)
		growth := allocatedBy(func() { h.importFile(ada, "", file).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage) })
		if growth > maxHostileAlloc {
			t.Errorf("import of a bomb that claims %s: got %d MiB allocated, want at most %d", name, growth>>20, maxHostileAlloc>>20)
		}
	}
	if after := h.get("/api/sessions", ada).wantStatus(http.StatusOK).body; !bytes.Equal(after, sessions) {
		t.Errorf("sessions after refused imports: got %s, want %s", after, sessions)
	}
}

// A program of an agent can leave a file of any size in the folder of the session. Its parts can be read; what would
// have to read all of it is refused, and other files can be used.
func TestAttackSparseFile(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/small.txt"), request{token: ada, body: "small"}).wantStatus(http.StatusCreated)
	const size = 2 << 30
	name := filepath.Join(h.fileFolder, string(id), "sparse.bin")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("end"), size-3); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	growth := allocatedBy(func() {
		if got := h.get(sessionPath(id, "/files"), ada).wantStatus(http.StatusOK); !contains(got.body, `"size":2147483648`) {
			t.Errorf("list: got %s, want the file of 2 GiB", got.body)
		}
		part := h.rest(http.MethodGet, sessionPath(id, "/files/sparse.bin"), request{token: ada, header: header("Range", "bytes=-3")}).wantStatus(http.StatusPartialContent)
		if string(part.body) != "end" {
			t.Errorf("last bytes: got %q, want %q", part.body, "end")
		}
		h.get(sessionPath(id, "/files.zip"), ada).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
		h.get(sessionPath(id, "/export"), ada).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
		// It counts as files of the session, so there is no room for more.
		h.rest(http.MethodPut, sessionPath(id, "/files/more.txt"), request{token: ada, body: "more"}).wantProblem(http.StatusInsufficientStorage, wire.CodeMessageTooLarge)
		h.rest(http.MethodDelete, sessionPath(id, "/files/sparse.bin"), request{token: ada}).wantStatus(http.StatusNoContent)
		h.rest(http.MethodPut, sessionPath(id, "/files/more.txt"), request{token: ada, body: "more"}).wantStatus(http.StatusCreated)
		h.get(sessionPath(id, "/export"), ada).wantStatus(http.StatusOK)
	})
	if growth > maxHostileAlloc {
		t.Errorf("a file of 2 GiB: got %d MiB allocated, want at most %d", growth>>20, maxHostileAlloc>>20)
	}
}
