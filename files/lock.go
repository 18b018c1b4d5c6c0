package files

import (
	"errors"
	"fmt"
	"os"
)

// lockName is the file in the folder of a user's apps that replicas lock. Earlier versions lock it, too.
const lockName = ".lock"

// lockObjects locks the objects of a session, in [AreaApps] also for other processes, because sessions on several
// replicas write the apps of their user. It returns the function that unlocks them.
func (f *Folder) lockObjects(root *os.Root, key Key) (unlock func(), err error) {
	done := f.lockSession(key.Session)
	if key.Area != AreaApps {
		return done, nil
	}
	file, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		done()
		return nil, fmt.Errorf("open lock of apps: %w", err)
	}
	if err := lockFile(file); err != nil {
		done()
		return nil, errors.Join(fmt.Errorf("lock apps: %w", err), file.Close())
	}
	return func() {
		_ = file.Close() // which unlocks it
		done()
	}, nil
}
