package s3files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/everdesk/everdesk/files"
)

// moveAttempts bounds how often one file is copied because others write it meanwhile.
const moveAttempts = 5

// Move implements [files.Backend]. S3 cannot rename: all objects are copied, then the originals are removed. A hub that
// is killed in between leaves both. What others write to an original meanwhile moves as well.
func (b *Backend) Move(ctx context.Context, from, to files.Key) (files.Entry, error) {
	source, err := b.objectKey(from)
	if err != nil {
		return files.Entry{}, err
	}
	target, err := b.objectKey(to)
	if err != nil {
		return files.Entry{}, err
	}
	if strings.HasPrefix(target+"/", source+"/") {
		return files.Entry{}, fmt.Errorf("%w: a folder cannot be moved into itself", files.ErrName)
	}
	all, folder, err := b.objects(ctx, source)
	if err != nil {
		return files.Entry{}, err
	}
	if _, _, err := b.objects(ctx, target); err == nil {
		return files.Entry{}, fmt.Errorf("%q: %w", to.Name, files.ErrExists)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return files.Entry{}, err
	}
	if err := b.checkPlace(ctx, to); err != nil {
		return files.Entry{}, err
	}
	m := move{b: b, targets: map[string]string{}}
	for _, o := range all {
		if m.targets[o.Key] = target + strings.TrimPrefix(o.Key, source); len(m.targets[o.Key]) > maxKey {
			return files.Entry{}, fmt.Errorf("%w: %q is too long", files.ErrName, to.Name)
		}
	}
	if err := m.copyAll(ctx, all); err != nil {
		return files.Entry{}, err
	}
	for _, o := range all {
		if err := m.finish(ctx, o); err != nil {
			return files.Entry{}, err
		}
	}
	if folder {
		return files.Entry{Path: to.Name, Folder: true, Modified: all[0].LastModified}, nil
	}
	moved, err := m.stat(ctx, target)
	if errors.Is(err, fs.ErrNotExist) { // another request has removed it
		return files.Entry{Path: to.Name, Modified: all[0].LastModified}, nil
	}
	return entryOf(to.Name, moved), err
}

// move copies objects and removes the originals.
type move struct {
	b       *Backend
	targets map[string]string // the new keys, by the old ones
}

// copyAll copies objects, or none if one cannot be copied. An object that was removed meanwhile is left out.
func (m *move) copyAll(ctx context.Context, all []minio.ObjectInfo) error {
	for i, o := range all {
		if err := m.copyObject(ctx, o); err != nil && !errors.Is(err, fs.ErrNotExist) {
			var copies []minio.ObjectInfo
			for _, done := range all[:i] {
				copies = append(copies, minio.ObjectInfo{Key: m.targets[done.Key]})
			}
			return errors.Join(err, m.b.remove(context.WithoutCancel(ctx), copies))
		}
	}
	return nil
}

// copyObject copies the present version of an object.
func (m *move) copyObject(ctx context.Context, o minio.ObjectInfo) error {
	for attempt := 1; ; attempt++ {
		_, err := m.b.client.CopyObject(ctx,
			minio.CopyDestOptions{Bucket: m.b.bucket, Object: m.targets[o.Key]},
			minio.CopySrcOptions{Bucket: m.b.bucket, Object: o.Key, MatchETag: tagOf(o)})
		err = translate("copy file", err)
		if !errors.Is(err, files.ErrChanged) || attempt == moveAttempts {
			return err
		}
		if o, err = m.stat(ctx, o.Key); err != nil {
			return err
		}
	}
}

// finish removes an original that was copied. A version that was written since is copied first.
func (m *move) finish(ctx context.Context, o minio.ObjectInfo) error {
	for attempt := 1; ; attempt++ {
		now, err := m.stat(ctx, o.Key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if tagOf(now) == tagOf(o) {
			return m.b.remove(ctx, []minio.ObjectInfo{o})
		}
		if attempt == moveAttempts {
			return fmt.Errorf("move %q: %w", o.Key, files.ErrChanged)
		}
		if err := m.copyObject(ctx, now); err != nil {
			return err
		}
		o = now
	}
}

func (m *move) stat(ctx context.Context, key string) (minio.ObjectInfo, error) {
	o, err := m.b.client.StatObject(ctx, m.b.bucket, key, minio.StatObjectOptions{})
	o.Key = key
	return o, translate("stat file", err)
}

func tagOf(o minio.ObjectInfo) string { return strings.Trim(o.ETag, `"`) }
