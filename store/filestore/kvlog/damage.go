package kvlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// quarantineDir is the folder for unreadable bytes, each with a report. The log never
// overwrites or deletes a file in it.
const quarantineDir = "aside"

// Damage is one unreadable range of the log, or data that is missing from it.
type Damage struct {
	// Bucket is the bucket that the data belonged to. It is empty if that is unknown; if
	// the bucket has later records, another Damage will name it.
	Bucket string
	// Suspects are the buckets without later records, if Bucket is empty: each of them may
	// have lost its newest records.
	Suspects []string
	// File, Offset and Length locate the damage.
	File   string
	Offset int64
	Length int64
	Reason string
	// QuarantineFile names the copy of the bytes in aside/, if there are any.
	QuarantineFile string
	// Report names the report in aside/. The same damage has the same report every time it
	// is found.
	Report string
}

func (d Damage) String() string {
	return fmt.Sprintf("%s at %d, %d bytes: %s", d.File, d.Offset, d.Length, d.Reason)
}

// quarantine keeps unreadable bytes and the reports about them in the quarantine folder.
type quarantine struct {
	dir    string // folder of the log
	cfg    Config
	status *status
}

// report writes the report of a damage and calls [Config.OnDamage].
func (q *quarantine) report(name string, d Damage, data []byte) error {
	d, err := q.writeReport(name, d, data)
	if err == nil {
		q.cfg.OnDamage(d)
	}
	return err
}

// writeReport writes the report of a damage, and the bytes if there are any, unless the
// report exists. It returns the damage with the names of both files. Callers call OnDamage
// even if the report exists: the process may have died before OnDamage acted on it.
func (q *quarantine) writeReport(name string, d Damage, data []byte) (Damage, error) {
	dir := filepath.Join(q.dir, quarantineDir)
	d.Report = name + ".txt"
	path := filepath.Join(dir, d.Report)
	if _, err := os.Stat(path); err == nil {
		if len(data) > 0 {
			d.QuarantineFile = filepath.Join(quarantineDir, name+".bin")
		}
		return d, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("quarantine data: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return d, fmt.Errorf("quarantine data: %w", err)
	}
	if len(data) > 0 {
		bin, err := q.saveBytes(name, data)
		if err != nil {
			return d, err
		}
		d.QuarantineFile = filepath.Join(quarantineDir, filepath.Base(bin))
	}
	text := fmt.Sprintf("file:   %s\noffset: %d\nlength: %d\nbucket: %q\nreason: %s\nbytes:  %s\nfound:  %s\n",
		d.File, d.Offset, d.Length, d.Bucket, d.Reason, d.QuarantineFile, time.Now().UTC().Format(time.RFC3339))
	if err := writeFile(path, []byte(text)); err != nil {
		return d, fmt.Errorf("quarantine data: %w", err)
	}
	q.cfg.Logger.Error("unreadable data quarantined",
		"file", d.File, "offset", d.Offset, "length", d.Length, "bucket", d.Bucket, "reason", d.Reason, "report", path)
	return d, nil
}

// reportName returns the name of the report of damage at an offset of a segment.
func reportName(seg uint32, off int64) string { return fmt.Sprintf("%08x-%08x", seg, off) }

// path returns an unused path in aside/.
func (q *quarantine) path(name, ext string) (string, error) {
	dir := filepath.Join(q.dir, quarantineDir)
	if err := makeDir(dir); err != nil {
		return "", fmt.Errorf("quarantine data: %w", err)
	}
	path := filepath.Join(dir, name+ext)
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", fmt.Errorf("quarantine data: %w", err)
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, n, ext))
	}
}

// saveBytes saves bytes to a file in aside/ and returns its path.
func (q *quarantine) saveBytes(name string, data []byte) (string, error) {
	path, err := q.path(name, ".bin")
	if err != nil {
		return "", err
	}
	if err := writeFile(path, data); err != nil {
		return "", fmt.Errorf("quarantine data: %w", err)
	}
	return path, nil
}

// moveSegment moves a segment file to aside/, if it still exists.
func (q *quarantine) moveSegment(seg *segment) error {
	path, err := q.path(fmt.Sprintf("%08x", seg.id), segmentSuffix)
	if err != nil {
		return err
	}
	if err := os.Rename(seg.path, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("quarantine data: %w", err)
	}
	if err := errors.Join(syncDir(filepath.Dir(path)), syncDir(q.dir)); err != nil {
		return q.status.markBroken(fmt.Errorf("fsync folder: %w", err))
	}
	return nil
}

// deleteUnreadable reports and deletes the entries that are still live in a segment after
// its live values were copied: their values are unreadable. It returns whether there were
// any.
func (c *compactor) deleteUnreadable(seg *segment) (lost bool, err error) {
	c.log.contents.mu.RLock()
	live := seg.live
	var evicted []string
	for name, b := range c.log.contents.buckets {
		if live > 0 && b.ix.Load() == nil && b.hasLiveIn(seg.id) {
			evicted = append(evicted, name)
		}
	}
	c.log.contents.mu.RUnlock()
	if live == 0 {
		return false, nil
	}
	for _, name := range evicted {
		if err := c.log.withBucket(name, func(*bucket) {}); err != nil {
			return false, err
		}
	}
	here := func(e Entry) bool { return e.at.seg == seg.id }
	keys := map[string]int{}
	c.log.contents.mu.RLock()
	for name, b := range c.log.contents.buckets {
		if batch := b.deletionsOf(here); batch != nil {
			keys[name] = len(batch.muts)
		}
	}
	c.log.contents.mu.RUnlock()
	// Reports come first: after the deletion the loss could not be detected any more.
	for name, n := range keys {
		d := Damage{
			Bucket: name, File: filepath.Base(seg.path), Length: seg.size,
			Reason: fmt.Sprintf("%d values could not be read when the segment was compacted", n),
		}
		if err := c.log.quarantine.report(fmt.Sprintf("%08x-%x", seg.id, checksum([]byte(name))), d, nil); err != nil {
			return false, err
		}
	}
	return len(keys) > 0, c.log.runOnCommitter(func() []*Batch {
		c.log.contents.mu.RLock()
		defer c.log.contents.mu.RUnlock()
		var batches []*Batch
		for name := range keys {
			if b := c.log.contents.buckets[name]; b != nil {
				if batch := b.deletionsOf(here); batch != nil {
					batches = append(batches, batch.setChecksum())
				}
			}
		}
		return batches
	})
}

// deletionsOf returns a batch that deletes the matching entries, or nil if none match.
func (b *bucket) deletionsOf(match func(Entry) bool) *Batch {
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
