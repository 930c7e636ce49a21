package counts

import (
	"fmt"
	"os"
)

// Sort puts the records of a finished file in the order of their indices.
// Records are appended as examples finish, which depends on the machine; after
// Sort the file's bytes depend on the run's header and examples alone. The
// file is replaced at once: a crash leaves the old one or the new one. A file
// that another process is appending to is refused.
func Sort(path string) error {
	f, err := openLocked(path, 0)
	if err != nil {
		return err
	}
	defer f.Close() // with the lock: until then nobody appends to what is replaced
	sorted, err := isSorted(path)
	if err != nil || sorted {
		return err
	}
	temp := path + ".sorting"
	if err := os.Remove(temp); err != nil && !os.IsNotExist(err) {
		return err
	}
	if _, err := Merge(temp, path); err != nil {
		return fmt.Errorf("sorting %s: %w", path, err)
	}
	return os.Rename(temp, path)
}

func isSorted(path string) (bool, error) {
	r, err := Open(path)
	if err != nil {
		return false, err
	}
	defer r.Close()
	last := -1
	for rec, err := range r.Records() {
		if err != nil {
			return false, err
		}
		if rec.Index < last {
			return false, nil
		}
		last = rec.Index
	}
	return !r.Cut(), nil
}
