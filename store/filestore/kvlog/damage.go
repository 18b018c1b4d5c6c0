package kvlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// asideDir is where unreadable bytes go, each with a report. Nothing there is
// ever overwritten or deleted by the log.
const asideDir = "aside"

// Damage is one stretch of the log that cannot be read, or something that must
// have been there and is not.
type Damage struct {
	// Bucket is whose data it was. It is empty when that cannot be told; if
	// the bucket has later records, another Damage will name it.
	Bucket string
	// Suspects are the buckets without later records, if Bucket is empty: each of
	// them may have lost its newest ones.
	Suspects []string
	// File, Offset and Length say where it is.
	File   string
	Offset int64
	Length int64
	Reason string
	// Aside names the file in aside/ that has the bytes, if there are any.
	Aside string
	// Report names the report in aside/. The same damage has the same report
	// whenever it is found.
	Report string
}

func (d Damage) String() string {
	return fmt.Sprintf("%s at %d, %d bytes: %s", d.File, d.Offset, d.Length, d.Reason)
}

// report writes the report of a damage and calls [Config.OnDamage].
func (l *Log) report(name string, d Damage, data []byte) error {
	d, err := l.writeReport(name, d, data)
	if err == nil {
		l.cfg.OnDamage(d)
	}
	return err
}

// writeReport writes the report of a damage, with the bytes if there are any, unless
// it is there already. It returns the damage with the names of both. Callers tell of it
// in any case: a report does not say whether whoever was told had the time to act on it.
func (l *Log) writeReport(name string, d Damage, data []byte) (Damage, error) {
	dir := filepath.Join(l.dir, asideDir)
	d.Report = name + ".txt"
	path := filepath.Join(dir, d.Report)
	if _, err := os.Stat(path); err == nil {
		if len(data) > 0 {
			d.Aside = filepath.Join(asideDir, name+".bin")
		}
		return d, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("set aside: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return d, fmt.Errorf("set aside: %w", err)
	}
	if len(data) > 0 {
		bin, err := l.setAside(name, data)
		if err != nil {
			return d, err
		}
		d.Aside = filepath.Join(asideDir, filepath.Base(bin))
	}
	text := fmt.Sprintf("file:   %s\noffset: %d\nlength: %d\nbucket: %q\nreason: %s\nbytes:  %s\nfound:  %s\n",
		d.File, d.Offset, d.Length, d.Bucket, d.Reason, d.Aside, time.Now().UTC().Format(time.RFC3339))
	if err := writeFile(path, []byte(text)); err != nil {
		return d, fmt.Errorf("set aside: %w", err)
	}
	l.cfg.Logger.Error("stored data is unreadable and was set aside",
		"file", d.File, "offset", d.Offset, "length", d.Length, "bucket", d.Bucket, "reason", d.Reason, "report", path)
	return d, nil
}

// stretchName names the report of bytes in a segment.
func stretchName(seg uint32, off int64) string { return fmt.Sprintf("%08x-%08x", seg, off) }

// asidePath returns a path in aside/ that is free.
func (l *Log) asidePath(name, ext string) (string, error) {
	dir := filepath.Join(l.dir, asideDir)
	if err := makeDir(dir); err != nil {
		return "", fmt.Errorf("set aside: %w", err)
	}
	path := filepath.Join(dir, name+ext)
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", fmt.Errorf("set aside: %w", err)
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, n, ext))
	}
}

// setAside saves bytes and returns where.
func (l *Log) setAside(name string, data []byte) (string, error) {
	path, err := l.asidePath(name, ".bin")
	if err != nil {
		return "", err
	}
	if err := writeFile(path, data); err != nil {
		return "", fmt.Errorf("set aside: %w", err)
	}
	return path, nil
}

// moveAside takes a whole segment file out of the log, if it is still there.
func (l *Log) moveAside(seg *segment) error {
	path, err := l.asidePath(fmt.Sprintf("%08x", seg.id), segmentSuffix)
	if err != nil {
		return err
	}
	if err := os.Rename(seg.path, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set aside: %w", err)
	}
	if err := errors.Join(syncDir(filepath.Dir(path)), syncDir(l.dir)); err != nil {
		return l.fail(fmt.Errorf("fsync folder: %w", err))
	}
	return nil
}

// abandon gives up on what is live in a segment that was evacuated: it could
// not be read. It reports whether there was any.
func (l *Log) abandon(seg *segment) (lost bool, err error) {
	l.mu.RLock()
	live := seg.live
	var folded []string
	for name, b := range l.buckets {
		if live > 0 && b.ix.Load() == nil && b.liesIn(seg.id) {
			folded = append(folded, name)
		}
	}
	l.mu.RUnlock()
	if live == 0 {
		return false, nil
	}
	for _, name := range folded {
		if err := l.view(name, func(*bucket) {}); err != nil {
			return false, err
		}
	}
	here := func(e Entry) bool { return e.at.seg == seg.id }
	keys := map[string]int{}
	l.mu.RLock()
	for name, b := range l.buckets {
		if batch := b.forget(here); batch != nil {
			keys[name] = len(batch.muts)
		}
	}
	l.mu.RUnlock()
	// Reports come first: once the log has forgotten, nobody would notice.
	for name, n := range keys {
		d := Damage{
			Bucket: name, File: filepath.Base(seg.path), Length: seg.size,
			Reason: fmt.Sprintf("%d values could not be read when the segment was compacted", n),
		}
		if err := l.report(fmt.Sprintf("%08x-%x", seg.id, checksum([]byte(name))), d, nil); err != nil {
			return false, err
		}
	}
	return len(keys) > 0, l.do(func() []*Batch {
		l.mu.RLock()
		defer l.mu.RUnlock()
		var batches []*Batch
		for name := range keys {
			if b := l.buckets[name]; b != nil {
				if batch := b.forget(here); batch != nil {
					batches = append(batches, batch.summed())
				}
			}
		}
		return batches
	})
}

// forget returns a batch that deletes the entries of a bucket that match, or
// nil if none do.
func (b *bucket) forget(match func(Entry) bool) *Batch {
	if b.ix.Load() == nil {
		return nil
	}
	batch := NewBatch(b.name)
	for e := range b.ix.Load().Ascend("", "") {
		if match(e) {
			batch.Delete(e.Key)
		}
	}
	if len(batch.muts) == 0 {
		return nil
	}
	return batch
}
