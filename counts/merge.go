package counts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Merged says what a merge came to.
type Merged struct {
	Records int      // examples in the result
	Repeats int      // identical repeats that were dropped
	Cut     []string // files whose last line was cut short and left out
}

// Merge writes the records of several files into one new file, ordered by
// index. Headers must fit (see [Header.Fits]); the result has the first one's.
// An example that two files hold with the same counts is kept once; with other
// counts it is a conflict and nothing is written. out must not exist. Memory
// grows with the result: about its size on disk.
func Merge(out string, paths ...string) (Merged, error) {
	if len(paths) == 0 {
		return Merged{}, errors.New("no counts file to merge")
	}
	if _, err := os.Lstat(out); err == nil {
		return Merged{}, fmt.Errorf("%s is there already; merging never overwrites", out)
	}
	m := merger{lines: map[int]place{}, paths: paths}
	for i := range paths {
		if err := m.read(i); err != nil {
			return Merged{}, err
		}
	}
	m.did.Records = len(m.lines)
	return m.did, m.write(out)
}

type merger struct {
	paths  []string
	header Header
	lines  map[int]place
	did    Merged
}

// place is a record and where it was first seen.
type place struct {
	record     []byte // canonical
	file, line int
}

func (m *merger) read(file int) error {
	path := m.paths[file]
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if file == 0 {
		m.header = r.header
	} else if err := m.header.Fits(&r.header); err != nil {
		return fmt.Errorf("%s and %s do not fit together: %w", m.paths[0], path, err)
	}
	var rec Record
	var buf []byte
	for {
		if err := r.Next(&rec); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		if buf, err = appendRecord(buf[:0], &m.header, &rec); err != nil {
			return r.fault(err)
		}
		had, twice := m.lines[rec.Index]
		switch {
		case !twice:
			m.lines[rec.Index] = place{record: bytes.Clone(buf), file: file, line: r.line}
		case bytes.Equal(had.record, buf):
			m.did.Repeats++
		default:
			return fmt.Errorf("%s:%d and %s:%d disagree about index %d: they are not the same run",
				m.paths[had.file], had.line, path, r.line, rec.Index)
		}
	}
	if r.cut {
		m.did.Cut = append(m.did.Cut, path)
	}
	return nil
}

// write makes the result whole under another name, then gives it its own.
func (m *merger) write(out string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	var buf bytes.Buffer
	line, err := json.Marshal(m.header)
	if err != nil {
		return err
	}
	buf.Write(append(line, '\n'))
	for _, index := range slices.Sorted(maps.Keys(m.lines)) {
		buf.Write(m.lines[index].record)
		buf.WriteByte('\n')
		if buf.Len() >= 1<<20 {
			if _, err := buf.WriteTo(f); err != nil {
				return err
			}
		}
	}
	if _, err := buf.WriteTo(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}
