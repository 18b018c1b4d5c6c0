package s3files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// maxKey is the longest key of S3, in bytes.
const maxKey = 1024

// Backend is the [files.Backend] in a bucket. [Open] returns one.
type Backend struct {
	client         *minio.Client
	bucket, prefix string
}

func (b *Backend) prefixed(key string) string {
	if b.prefix == "" {
		return key
	}
	return b.prefix + "/" + key
}

// areaKey returns the beginning of all keys of a session's area, with a slash at its end.
func (b *Backend) areaKey(session wire.SessionID, a files.Area) string {
	if a == files.AreaCold || a == files.AreaApps {
		// RemoveAll, also that of earlier versions, removes all that is below the session.
		return b.prefixed("." + string(a) + "/" + string(session) + "/")
	}
	return b.prefixed(string(session) + "/" + string(a) + "/")
}

// objectKey returns the key of an object.
func (b *Backend) objectKey(key files.Key) (string, error) {
	if err := key.Session.Validate(); err != nil {
		return "", err
	}
	full := b.areaKey(key.Session, key.Area) + key.Name
	if len(full) > maxKey {
		return "", fmt.Errorf("%w: with its session it has %d bytes, at most %d are allowed", files.ErrName, len(full), maxKey)
	}
	return full, nil
}

// translate returns the error of package files for one of the server.
func translate(what string, err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	switch {
	case r.Code == minio.NoSuchKey || r.StatusCode == http.StatusNotFound && r.Code != minio.NoSuchBucket:
		return fmt.Errorf("%s: %w", what, fs.ErrNotExist)
	case r.StatusCode == http.StatusPreconditionFailed || r.Code == "ConditionalRequestConflict":
		return fmt.Errorf("%s: %w", what, files.ErrChanged)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func entryOf(name string, o minio.ObjectInfo) files.Entry {
	return files.Entry{Path: name, Size: o.Size, Modified: o.LastModified, ETag: strings.Trim(o.ETag, `"`)}
}

// Put implements [files.Backend].
func (b *Backend) Put(ctx context.Context, key files.Key, from io.Reader, size int64, c files.Condition) (files.Entry, error) {
	full, err := b.objectKey(key)
	if err != nil {
		return files.Entry{}, err
	}
	if err := b.checkPlace(ctx, key); err != nil {
		return files.Entry{}, err
	}
	if size < 0 {
		spooled, n, err := spool(ctx, from)
		if err != nil {
			return files.Entry{}, err
		}
		defer func() { _ = spooled.Close() }() // it is removed already
		from, size = spooled, n
	}
	tag, err := b.put(ctx, full, from, size, c)
	if err != nil {
		return files.Entry{}, err
	}
	return b.written(ctx, key.Name, full, tag, size), nil
}

// written returns the version of an object that this hub wrote, whose tag the answer had. The answer had no time, and
// the next writer may have replaced or removed the object by now.
func (b *Backend) written(ctx context.Context, name, full, tag string, size int64) files.Entry {
	e := files.Entry{Path: name, Size: size, ETag: strings.Trim(tag, `"`), Modified: time.Now()}
	if o, err := b.client.StatObject(ctx, b.bucket, full, minio.StatObjectOptions{}); err == nil {
		e.Modified = o.LastModified
	}
	return e
}

// put writes an object with one request, and returns its tag.
func (b *Backend) put(ctx context.Context, key string, from io.Reader, size int64, c files.Condition) (tag string, err error) {
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	if c.ETag != "" {
		o.SetMatchETag(c.ETag)
	}
	if c.Absent {
		o.SetMatchETagExcept("*")
	}
	source := &failureReader{from: from}
	info, err := b.client.PutObject(ctx, b.bucket, key, source, size, o)
	if source.err != nil {
		return "", fmt.Errorf("write file: %w", source.err) // which the client reports in words of its own
	}
	err = translate("write file", err)
	if c.ETag != "" && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("write file: %w", files.ErrChanged)
	}
	return info.ETag, err
}

// failureReader keeps the error of its reader.
type failureReader struct {
	from io.Reader
	err  error
}

func (r *failureReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// spool writes bytes of an unknown number to a temporary file, because S3 needs their number first.
func spool(ctx context.Context, from io.Reader) (_ *os.File, size int64, err error) {
	f, err := os.CreateTemp("", "everdesk-s3-*")
	if err != nil {
		return nil, 0, fmt.Errorf("spool file: %w", err)
	}
	_ = os.Remove(f.Name()) // the system deletes it when it is closed
	if size, err = io.Copy(f, from); err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("spool file: %w", err), f.Close())
	}
	return f, size, nil
}

// checkPlace refuses a name that is a folder, or below a file: S3 would store both.
func (b *Backend) checkPlace(ctx context.Context, key files.Key) error {
	if key.Area != files.AreaFiles {
		return nil // their names are those of this package
	}
	area := b.areaKey(key.Session, key.Area)
	below, err := b.list(ctx, area+key.Name+"/", 1)
	if err != nil {
		return err
	}
	if len(below) > 0 {
		return fmt.Errorf("%w: %q is a folder", files.ErrName, key.Name)
	}
	for i, c := range key.Name {
		if c != '/' {
			continue
		}
		_, err := b.client.StatObject(ctx, b.bucket, area+key.Name[:i], minio.StatObjectOptions{})
		if err = translate("stat folder", err); err == nil {
			return fmt.Errorf("%w: a folder of %q is a file", files.ErrName, key.Name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// list returns the objects whose keys begin with a prefix; at most `most` of them, unless it is 0.
func (b *Backend) list(ctx context.Context, prefix string, most int) ([]minio.ObjectInfo, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the listing of the client
	defer cancel()
	var all []minio.ObjectInfo
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: most}) {
		if o.Err != nil {
			// Not translated: 404 means that there is no bucket, and not that there are no files.
			return nil, fmt.Errorf("list files: %w", o.Err)
		}
		if strings.HasSuffix(o.Key, "/") {
			continue // some servers have an object for a folder
		}
		if all = append(all, o); most > 0 && len(all) >= most {
			break
		}
	}
	return all, nil
}

// Open implements [files.Backend].
func (b *Backend) Open(ctx context.Context, key files.Key) (files.Content, files.Entry, error) {
	full, err := b.objectKey(key)
	if err != nil {
		return nil, files.Entry{}, err
	}
	// Later reads demand the ETag of this one, so that the content is that of one version.
	o, err := b.client.GetObject(ctx, b.bucket, full, minio.GetObjectOptions{})
	if err != nil {
		return nil, files.Entry{}, translate("open file", err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, files.Entry{}, errors.Join(b.openError(ctx, full, translate("open file", err)), o.Close())
	}
	return o, entryOf(key.Name, info), nil
}

// openError returns the error for a key without an object, which may be a folder. The object is missing
// only if the bucket can be listed: without the bucket, or behind a wrong proxy, all answers are 404.
func (b *Backend) openError(ctx context.Context, key string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	below, lerr := b.list(ctx, key+"/", 1)
	if lerr != nil {
		return lerr
	}
	if len(below) > 0 {
		return fmt.Errorf("%w: it is a folder", files.ErrName)
	}
	return err
}

// List implements [files.Backend].
func (b *Backend) List(ctx context.Context, key files.Key) ([]files.Entry, error) {
	if err := key.Session.Validate(); err != nil {
		return nil, err
	}
	area := b.areaKey(key.Session, key.Area)
	prefix := area
	if key.Name != "" {
		prefix += key.Name + "/"
	}
	all, err := b.list(ctx, prefix, 0)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 && key.Name != "" {
		return nil, fmt.Errorf("list folder %q: %w", key.Name, fs.ErrNotExist)
	}
	entries := make([]files.Entry, 0, len(all))
	for _, o := range all {
		entries = append(entries, entryOf(strings.TrimPrefix(o.Key, area), o))
	}
	slices.SortFunc(entries, func(a, b files.Entry) int { return cmp.Compare(a.Path, b.Path) })
	return entries, nil
}

// objects returns the object of a key, or those of the folder.
func (b *Backend) objects(ctx context.Context, full string) (all []minio.ObjectInfo, folder bool, err error) {
	o, err := b.client.StatObject(ctx, b.bucket, full, minio.StatObjectOptions{})
	if err == nil {
		o.Key = full
		return []minio.ObjectInfo{o}, false, nil
	}
	if err = translate("stat file", err); !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if all, err = b.list(ctx, full+"/", 0); err != nil {
		return nil, false, err
	}
	if len(all) == 0 {
		return nil, false, fmt.Errorf("stat file: %w", fs.ErrNotExist)
	}
	return all, true, nil
}

func (b *Backend) remove(ctx context.Context, all []minio.ObjectInfo) error {
	for _, o := range all {
		if err := b.client.RemoveObject(ctx, b.bucket, o.Key, minio.RemoveObjectOptions{}); err != nil {
			return translate("remove file", err)
		}
	}
	return nil
}

// Remove implements [files.Backend].
func (b *Backend) Remove(ctx context.Context, key files.Key) error {
	full, err := b.objectKey(key)
	if err != nil {
		return err
	}
	all, _, err := b.objects(ctx, full)
	if err != nil {
		return err
	}
	return b.remove(ctx, all)
}

// RemoveAll implements [files.Backend].
func (b *Backend) RemoveAll(ctx context.Context, session wire.SessionID) error {
	if err := session.Validate(); err != nil {
		return err
	}
	all, err := b.list(ctx, b.prefixed(string(session)+"/"), 0)
	if err != nil {
		return err
	}
	return b.remove(ctx, all)
}
