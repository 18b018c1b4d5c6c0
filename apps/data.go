package apps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/files"
)

// Bounds of the data of an app.
const (
	// MaxDataFile bounds a file, MaxDataFiles their number and MaxDataBytes their size together.
	MaxDataFile  = 1 << 20
	MaxDataFiles = 50
	MaxDataBytes = 4 << 20
)

// Names of data.
const (
	dataFolder      = "data"
	credentialsFile = "credentials.json"
)

// data calls do with the folder of the data of an app that exists.
func (s *Store) data(ctx context.Context, user, id string, do func(o objects, folder string) error) error {
	if err := CheckID(id); err != nil {
		return err
	}
	o, err := s.objectsOf(user)
	if err == nil {
		_, err = currentVersion(ctx, o, id)
	}
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: there is no app %q", ErrNotFound, id)
	}
	if err != nil {
		return err
	}
	return do(o, path.Join(appFolder(id), dataFolder))
}

// ReadData returns a file of an app's data.
func (s *Store) ReadData(ctx context.Context, user, id, name string) (content []byte, err error) {
	if err := files.CheckName(name); err != nil {
		return nil, err
	}
	err = s.data(ctx, user, id, func(o objects, folder string) error {
		content, _, err = o.read(ctx, path.Join(folder, name), MaxDataFile)
		if errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("%w: the app %q has no file %q", ErrNotFound, id, name)
		}
		return err
	})
	return content, err
}

// ListData returns the names of an app's data, in order.
func (s *Store) ListData(ctx context.Context, user, id string) (names []string, err error) {
	err = s.data(ctx, user, id, func(o objects, folder string) error {
		all, err := o.list(ctx, folder)
		for _, e := range all {
			names = append(names, strings.TrimPrefix(e.Path, folder+"/"))
		}
		slices.Sort(names)
		return err
	})
	return names, err
}

// DataVersion returns the version of a file of an app's data, which is the same for the same content.
func DataVersion(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// WriteData writes a file of an app's data in one step, and replaces one of that name.
func (s *Store) WriteData(ctx context.Context, user, id, name string, content []byte) error {
	return s.writeData(ctx, user, id, name, content, nil)
}

// ReplaceData is [Store.WriteData] for a writer that knows the file: if its version is not was any more, the error is
// [files.ErrChanged]. An empty version means that the file must not exist.
func (s *Store) ReplaceData(ctx context.Context, user, id, name string, content []byte, was string) error {
	return s.writeData(ctx, user, id, name, content, &was)
}

func (s *Store) writeData(ctx context.Context, user, id, name string, content []byte, was *string) error {
	if err := files.CheckName(name); err != nil {
		return err
	}
	if len(content) > MaxDataFile {
		return fmt.Errorf("%w: a file of an app has at most %d bytes", ErrTooLarge, MaxDataFile)
	}
	defer s.lock(user)()
	return s.data(ctx, user, id, func(o objects, folder string) error {
		full := path.Join(folder, name)
		condition, err := conditionFor(ctx, o, full, was)
		if err != nil {
			return err
		}
		all, err := o.list(ctx, folder)
		if err == nil {
			err = checkData(all, full, int64(len(content)))
		}
		if err != nil {
			return err
		}
		return o.write(ctx, full, content, condition)
	})
}

// checkData refuses a file that does not fit beside the others: there would be too much data, or a name would be that
// of a file and of a folder.
func checkData(all []files.Entry, name string, size int64) error {
	count := 1
	for _, e := range all {
		switch {
		case e.Path == name:
			continue // it is replaced
		case strings.HasPrefix(e.Path, name+"/"):
			return fmt.Errorf("%w: %q is a folder", files.ErrName, path.Base(name))
		case strings.HasPrefix(name, e.Path+"/"):
			return fmt.Errorf("%w: %q is a file, not a folder", files.ErrName, path.Base(e.Path))
		}
		size += e.Size
		count++
	}
	if count > MaxDataFiles || size > MaxDataBytes {
		return fmt.Errorf("%w: an app has at most %d files with %d bytes", ErrFull, MaxDataFiles, MaxDataBytes)
	}
	return nil
}

// conditionFor returns the condition that a file still has the version was, or none if that is nil. The error is
// [files.ErrChanged] if it has another one already.
func conditionFor(ctx context.Context, o objects, name string, was *string) (files.Condition, error) {
	if was == nil {
		return files.Condition{}, nil
	}
	if *was == "" {
		return files.Condition{Absent: true}, nil
	}
	content, etag, err := o.read(ctx, name, MaxDataFile)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return files.Condition{}, err
	}
	if err != nil || DataVersion(content) != *was {
		return files.Condition{}, fmt.Errorf("%w: %q", files.ErrChanged, path.Base(name))
	}
	return files.Condition{ETag: etag}, nil
}

// RemoveData removes a file of an app's data.
func (s *Store) RemoveData(ctx context.Context, user, id, name string) error {
	if err := files.CheckName(name); err != nil {
		return err
	}
	defer s.lock(user)()
	return s.data(ctx, user, id, func(o objects, folder string) error {
		full := path.Join(folder, name)
		all, err := o.list(ctx, folder)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(e files.Entry) bool { return e.Path == full }) {
			return fmt.Errorf("%w: the app %q has no file %q", ErrNotFound, id, name)
		}
		return o.remove(ctx, full)
	})
}
