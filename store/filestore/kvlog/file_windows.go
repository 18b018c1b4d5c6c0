package kvlog

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// diskFull are the errors of a write that found no space. The first three are not
// errors of Windows; package os and tests may return them.
var diskFull = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG,
	windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED,
}

// openFile opens a file as os.OpenFile does, but lets it be renamed and removed
// while it is open, as on Unix: createSegment names a segment after writing its
// header, and compaction removes segments that readers still have open.
// Windows 10 1809 or newer frees the name of a removed file at once. Older versions
// free it when the last reader closes the file; that is harmless, because the number
// of a new segment is higher than that of every open one.
func openFile(path string, flag int) (File, error) {
	fail := func(err error) (File, error) { return nil, &fs.PathError{Op: "open", Path: path, Err: err} }
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fail(err)
	}
	create := uint32(windows.OPEN_EXISTING)
	switch {
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		create = windows.CREATE_NEW
	case flag&os.O_CREATE != 0 && flag&os.O_TRUNC != 0:
		create = windows.CREATE_ALWAYS
	case flag&os.O_CREATE != 0:
		create = windows.OPEN_ALWAYS
	case flag&os.O_TRUNC != 0:
		create = windows.TRUNCATE_EXISTING
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, create, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return fail(err)
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncDir does nothing: Windows documents no way to flush a folder.
// NTFS and ReFS write changes of names to their journal in order, so after a power
// failure a folder is as it was at some earlier moment: a removed segment may be
// back, but never with a later removal kept. The name of a new segment is durable
// once its first records are, because flushing a file also flushes the journal up to
// its last change.
func syncDir(string) error { return nil }
