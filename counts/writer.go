package counts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// syncEvery is the number of records between two fsyncs. A killed process
// loses nothing that Append returned for; a machine that loses power loses at
// most this many records, and resuming makes them anew.
const syncEvery = 64

// Writer appends records to a counts file. Its methods may be called from
// several goroutines. One process at a time can hold a file.
type Writer struct {
	mu     sync.Mutex
	path   string
	f      *os.File
	header Header
	seen   *Indices
	buf    []byte
	end    int64 // offset behind the last whole line
	dirty  int   // records since the last fsync
	fatal  error
}

// Resume opens a counts file for appending, or begins it where path is not
// there, and returns the indices that it holds. A last line without a newline
// was cut by a crash: it is removed. Any other bad line is an error, and so is
// a header that does not fit (see [Header.Fits]). The header of an existing
// file stays as it is.
//
// The file is locked until Close; a second Resume of it fails.
func Resume(path string, header Header) (*Writer, *Indices, error) {
	if err := header.Validate(); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	line, err := json.Marshal(header)
	if err == nil {
		err = json.Unmarshal(line, new(Header)) // an unknown field must come back as one
	}
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	f, err := openLocked(path, os.O_CREATE)
	if err != nil {
		return nil, nil, err
	}
	w := &Writer{path: path, f: f, header: header, seen: &Indices{}}
	if err := w.resume(append(line, '\n')); err != nil {
		f.Close() // also gives the lock back
		return nil, nil, err
	}
	return w, w.seen.clone(), nil
}

// openLocked opens a file for appending and locks it. Between the two another
// process may have put a sorted file in its place; records appended to the old
// one would be lost, so the lock must be on the file that the path names.
func openLocked(path string, flag int) (*os.File, error) {
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flag, 0o666)
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: another lorica is writing this file (%w)", path, err)
		}
		have, err := f.Stat()
		if err == nil {
			var named os.FileInfo
			if named, err = os.Stat(path); err == nil && os.SameFile(have, named) {
				return f, nil
			}
		}
		f.Close()
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: another lorica keeps replacing this file", path)
}

func (w *Writer) resume(headerLine []byte) error {
	begun, err := w.beginsWith(headerLine)
	if err != nil {
		return err
	}
	if !begun {
		return w.write(headerLine)
	}
	magic := make([]byte, 2)
	if _, err := w.f.ReadAt(magic, 0); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		return fmt.Errorf("%s: gzipped, so nothing can be appended; gunzip it first", w.path)
	}
	// A last line without its newline is dropped even where it is whole: it is
	// drawn again, to the same counts. Everything before it must be right.
	w.end, err = lastNewline(w.f)
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	r, err := Decode(io.NewSectionReader(w.f, 0, w.end), w.path)
	if err != nil {
		return err
	}
	if err := r.header.Fits(&w.header); err != nil {
		return &LineError{File: w.path, Line: 1, Err: fmt.Errorf("cannot resume (file, then this run): %w; use another folder or the same settings", err)}
	}
	w.header = r.header
	var rec Record
	for {
		if err := r.Next(&rec); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	w.seen = &r.seen
	return w.f.Truncate(w.end)
}

// lastNewline is the offset behind the file's last newline.
func lastNewline(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 1<<16)
	for end := info.Size(); end > 0; {
		part := buf[:min(end, int64(len(buf)))]
		if _, err := f.ReadAt(part, end-int64(len(part))); err != nil {
			return 0, err
		}
		end -= int64(len(part))
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return end + int64(i) + 1, nil
		}
	}
	return 0, nil
}

// beginsWith says whether the file already has a header line. A file that is
// only the beginning of the header we would write was cut there by a crash and
// is emptied; nothing else is ever cut.
func (w *Writer) beginsWith(headerLine []byte) (bool, error) {
	head := make([]byte, len(headerLine))
	n, err := w.f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("%s: %w", w.path, err)
	}
	if err == io.EOF && bytes.HasPrefix(headerLine, head[:n]) && n < len(headerLine) {
		return false, w.f.Truncate(0)
	}
	return true, nil
}

// Header is the file's header.
func (w *Writer) Header() Header { return w.header }

// Append writes one record: one line, one system call. The record is checked
// first, and an index that the file already holds is refused. Where the write
// fails the file is cut back to the last whole line.
func (w *Writer) Append(rec Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fatal != nil {
		return w.fatal
	}
	if err := rec.Validate(&w.header); err != nil {
		return fmt.Errorf("%s: record of index %d: %w", w.path, rec.Index, err)
	}
	if w.seen.Has(rec.Index) {
		return fmt.Errorf("%s: index %d is already in the file", w.path, rec.Index)
	}
	line, err := appendRecord(w.buf[:0], &w.header, &rec)
	if err != nil {
		return fmt.Errorf("%s: record of index %d: %w", w.path, rec.Index, err)
	}
	w.buf = append(line, '\n')
	if err := w.write(w.buf); err != nil {
		return err
	}
	w.seen.add(rec.Index)
	if w.dirty++; w.dirty >= syncEvery {
		return w.sync()
	}
	return nil
}

// write appends a whole line or nothing.
func (w *Writer) write(line []byte) error {
	if _, err := w.f.Write(line); err != nil {
		if cut := w.f.Truncate(w.end); cut != nil {
			w.fatal = fmt.Errorf("%s: unusable after a failed write: %w", w.path, errors.Join(err, cut))
			return w.fatal
		}
		return fmt.Errorf("%s: %w", w.path, err)
	}
	w.end += int64(len(line))
	return nil
}

// Sync makes what was written survive a loss of power.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sync()
}

func (w *Writer) sync() error {
	w.dirty = 0
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	return nil
}

// Close syncs and closes the file and gives its lock back.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	err := errors.Join(w.sync(), w.f.Close())
	w.f, w.fatal = nil, fmt.Errorf("%s: %w", w.path, os.ErrClosed)
	return err
}
