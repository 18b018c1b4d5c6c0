package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ErrOffset says that a piece does not begin where the upload ends. [Upload.Offset] says where that is.
var ErrOffset = errors.New("the upload has another offset")

const (
	// PieceBytes bounds one piece of an upload.
	PieceBytes = 8 << 20
	// uploadTTL is how long an upload can be continued after its beginning.
	uploadTTL = 24 * time.Hour
	// maxUploads bounds the unfinished uploads of a session.
	maxUploads = 64
	// headName is the object of an upload that says what it is.
	headName = "head"
)

// Upload is a file that is received in pieces, each a request of its own, so that it can be continued
// after the connection was lost. Every piece is an object of the backend: any replica can continue.
type Upload struct {
	ID     string
	Path   string
	Size   int64
	Offset int64
	// Done has the file once all pieces have arrived.
	Done *Entry
}

// uploadHead is the stored form of an upload.
type uploadHead struct {
	Path   string `json:"path"`
	ETag   string `json:"etag,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

// parseUploadID returns the time and the size that an id of an upload carries.
func parseUploadID(id string) (at time.Time, size int64, ok bool) {
	fields := strings.Split(id, "-")
	if len(fields) != 3 || CheckName(id) != nil || strings.Contains(id, "/") {
		return time.Time{}, 0, false
	}
	ms, err := strconv.ParseInt(fields[0], 16, 64)
	size, serr := strconv.ParseInt(fields[1], 16, 64)
	return time.UnixMilli(ms), size, err == nil && serr == nil && size >= 0
}

// NewUpload is an upload to begin.
type NewUpload struct {
	Path string
	Size int64
	// Key, unless empty, lets a client begin an upload again whose answer it did not get: an unfinished upload with the
	// same key, path and size continues. The condition is that of the first request.
	Key string
}

// suffix returns the end of the upload's id. Two uploads have the same one if they have the same key, path and size. So
// every replica finds an upload by its key in the list of the backend. Two replicas that begin it at the very same time
// may both do so: the one that the client does not learn of ends after [uploadTTL].
func (n NewUpload) suffix() string {
	const length = 16
	if n.Key == "" {
		return strings.ToLower(rand.Text()[:length])
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", n.Key, n.Path, n.Size))
	return hex.EncodeToString(sum[:])[:2*length]
}

// StartUpload begins an upload. Its size counts against the limits of the session from now on, for a
// day at most. The condition is compared when the upload ends.
func (s *Store) StartUpload(ctx context.Context, session wire.SessionID, n NewUpload, c Condition) (Upload, error) {
	name, size := n.Path, n.Size
	if err := CheckNewName(name); err != nil {
		return Upload{}, err
	}
	if size > s.cfg.FileBytes {
		return Upload{}, s.errTooLarge()
	}
	defer s.lockSession(session)()
	suffix := n.suffix()
	if n.Key != "" {
		if known, err := s.findUpload(ctx, session, suffix); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return known, err
		}
	}
	used, err := s.usageWithout(ctx, session, name)
	if err != nil {
		return Upload{}, err
	}
	if used.uploads >= maxUploads {
		return Upload{}, fmt.Errorf("%w: at most %d", ErrBusy, maxUploads)
	}
	if err := s.checkRoom(used, size); err != nil {
		return Upload{}, err
	}
	head, err := json.Marshal(uploadHead{Path: name, ETag: c.ETag, Absent: c.Absent})
	if err != nil {
		return Upload{}, fmt.Errorf("encode upload: %w", err)
	}
	u := Upload{ID: fmt.Sprintf("%012x-%x-%s", time.Now().UnixMilli(), size, suffix), Path: name, Size: size}
	if _, err := s.backend.Put(ctx, Key{session, AreaUploads, u.ID + "/" + headName}, bytes.NewReader(head), int64(len(head)), Condition{}); err != nil {
		return Upload{}, err
	}
	if size > 0 {
		return u, nil
	}
	done, err := s.finishUpload(ctx, session, u, c, nil)
	if err != nil { // the caller does not learn the id
		return Upload{}, errors.Join(err, s.CancelUpload(context.WithoutCancel(ctx), session, u.ID))
	}
	return done, nil
}

// findUpload returns the unfinished upload whose id has a suffix, or [fs.ErrNotExist].
func (s *Store) findUpload(ctx context.Context, session wire.SessionID, suffix string) (Upload, error) {
	all, err := s.backend.List(ctx, Key{session, AreaUploads, ""})
	if err != nil {
		return Upload{}, err
	}
	for _, e := range all {
		id, name, _ := strings.Cut(e.Path, "/")
		if name == headName && strings.HasSuffix(id, "-"+suffix) {
			if u, err := s.Upload(ctx, session, id); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return u, err
			}
		}
	}
	return Upload{}, fs.ErrNotExist
}

// unfinished returns the space that the unfinished uploads of a session have reserved, and removes those
// that are too old, and pieces of which a removal that was interrupted has left.
func (s *Store) unfinished(ctx context.Context, session wire.SessionID) (reserved int64, count int, err error) {
	all, err := s.backend.List(ctx, Key{session, AreaUploads, ""})
	if err != nil {
		return 0, 0, err
	}
	begun := map[string]bool{} // by id: has a head
	for _, e := range all {
		id, name, below := strings.Cut(e.Path, "/")
		if below {
			begun[id] = begun[id] || name == headName
		}
	}
	for id, hasHead := range begun {
		at, size, ok := parseUploadID(id)
		if ok && hasHead && time.Since(at) < uploadTTL {
			reserved, count = reserved+size, count+1
			continue
		}
		if err := s.backend.Remove(ctx, Key{session, AreaUploads, id}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, 0, err
		}
	}
	return reserved, count, nil
}

// Upload returns the state of an upload; [fs.ErrNotExist] if it has ended.
func (s *Store) Upload(ctx context.Context, session wire.SessionID, id string) (Upload, error) {
	u, _, _, err := s.readUpload(ctx, session, id)
	return u, err
}

// readUpload returns an upload, its condition and its pieces in order.
func (s *Store) readUpload(ctx context.Context, session wire.SessionID, id string) (Upload, Condition, []Entry, error) {
	at, size, ok := parseUploadID(id)
	if !ok || time.Since(at) >= uploadTTL {
		return Upload{}, Condition{}, nil, fmt.Errorf("%w: no upload %q", fs.ErrNotExist, id)
	}
	f, _, err := s.backend.Open(ctx, Key{session, AreaUploads, id + "/" + headName})
	if err != nil {
		return Upload{}, Condition{}, nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var head uploadHead
	if err := json.NewDecoder(io.LimitReader(f, 16<<10)).Decode(&head); err != nil {
		return Upload{}, Condition{}, nil, fmt.Errorf("read upload: %w", err)
	}
	all, err := s.backend.List(ctx, Key{session, AreaUploads, id})
	if err != nil {
		return Upload{}, Condition{}, nil, err
	}
	u := Upload{ID: id, Path: head.Path, Size: size}
	var pieces []Entry
	for _, e := range all { // in the order of their offsets
		if e.Path == id+"/"+pieceName(u.Offset) {
			u.Offset += e.Size
			pieces = append(pieces, e)
		}
	}
	return u, Condition{ETag: head.ETag, Absent: head.Absent}, pieces, nil
}

func pieceName(offset int64) string { return fmt.Sprintf("at-%016x", offset) }

// Append stores a piece of size bytes that begins at an offset. If the piece is the last one, the file is
// stored and the upload ends. Else, and if the piece fails, the upload can be continued at
// the returned offset. The error is [ErrOffset] if the upload ends elsewhere, and for the last piece
// any that [Store.SaveIf] has.
func (s *Store) Append(ctx context.Context, session wire.SessionID, id string, offset int64, from io.Reader, size int64) (Upload, error) {
	u, c, pieces, err := s.readUpload(ctx, session, id)
	if err != nil {
		return Upload{}, err
	}
	if offset != u.Offset {
		return u, fmt.Errorf("%w: %d", ErrOffset, u.Offset)
	}
	if size < 0 || size > PieceBytes || size > u.Size-offset {
		return u, fmt.Errorf("%w: a piece has at most %d bytes and ends with the file", ErrTooLarge, PieceBytes)
	}
	if size > 0 {
		key := Key{session, AreaUploads, id + "/" + pieceName(offset)}
		e, err := s.backend.Put(ctx, key, &wholeReader{from: from, left: size}, size, Condition{Absent: true})
		if errors.Is(err, ErrChanged) {
			return u, fmt.Errorf("%w: another request sends this piece", ErrOffset)
		}
		if err != nil {
			return u, err
		}
		u.Offset += e.Size
		pieces = append(pieces, e)
	}
	if u.Offset < u.Size {
		return u, nil
	}
	return s.finishUpload(ctx, session, u, c, pieces)
}

// wholeReader fails if there are fewer bytes than announced: a piece that was cut off is not stored.
type wholeReader struct {
	from io.Reader
	left int64
}

func (r *wholeReader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if int64(len(b)) > r.left {
		b = b[:r.left]
	}
	n, err := r.from.Read(b)
	if r.left -= int64(n); err == io.EOF && r.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// finishUpload stores the file of which all pieces have arrived.
func (s *Store) finishUpload(ctx context.Context, session wire.SessionID, u Upload, c Condition, pieces []Entry) (Upload, error) {
	from := &pieceReader{ctx: ctx, backend: s.backend, session: session, pieces: pieces}
	defer from.close()
	e, err := s.backend.Put(ctx, Key{session, AreaFiles, u.Path}, from, u.Size, c)
	if err != nil {
		return u, err
	}
	u.Done = &e
	s.changed(ctx, session, Change{Entry: e})
	_ = s.CancelUpload(ctx, session, u.ID) // the file is stored, and pieces that stay are removed after a day
	return u, nil
}

// pieceReader reads the pieces of an upload one after the other.
type pieceReader struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one call
	backend Backend
	session wire.SessionID
	pieces  []Entry
	open    Content
}

func (r *pieceReader) close() {
	if r.open != nil {
		_ = r.open.Close() // only read
		r.open = nil
	}
}

func (r *pieceReader) Read(b []byte) (int, error) {
	for {
		if r.open == nil {
			if len(r.pieces) == 0 {
				return 0, io.EOF
			}
			f, _, err := r.backend.Open(r.ctx, Key{r.session, AreaUploads, r.pieces[0].Path})
			if err != nil {
				return 0, fmt.Errorf("read piece: %w", err)
			}
			r.open, r.pieces = f, r.pieces[1:]
		}
		n, err := r.open.Read(b)
		if errors.Is(err, io.EOF) {
			r.close()
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// CancelUpload removes an upload with its pieces.
func (s *Store) CancelUpload(ctx context.Context, session wire.SessionID, id string) error {
	if _, _, ok := parseUploadID(id); !ok {
		return fmt.Errorf("%w: no upload %q", fs.ErrNotExist, id)
	}
	if err := s.backend.Remove(ctx, Key{session, AreaUploads, id}); err != nil {
		return fmt.Errorf("remove pieces: %w", err)
	}
	return nil
}
