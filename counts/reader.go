package counts

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// maxLine bounds the memory of a reader: a record of 65,536 classes fits.
const maxLine = 16 << 20

// Reader reads a counts file record by record, in constant memory but for one
// bit an example (duplicates are an error).
type Reader struct {
	name   string
	in     *bufio.Reader
	close  func() error
	header Header

	line  int // number of the line read last, from 1
	long  []byte
	seen  Indices
	cut   bool
	end   int64 // offset behind the last whole line
	fatal error
}

// A LineError is a fault of a counts file at one line.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap gives the fault without its place.
func (e *LineError) Unwrap() error { return e.Err }

// ErrNoHeader is what [Open] returns wrapped for a file that is empty or ends
// within its first line: a run that was killed as it began. [Resume] begins
// such a file anew where it can tell that nothing is lost.
var ErrNoHeader = errors.New("no whole header")

// Open opens a counts file, plain or gzipped (told by its content, not its
// name), and reads its header.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := Decode(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = f.Close
	return r, nil
}

// Decode reads a counts file from a stream; name stands in its errors.
func Decode(in io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, in: bufio.NewReaderSize(in, 1<<16), close: func() error { return nil }}
	if isGzip(r.in) {
		z, err := gzip.NewReader(r.in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.in = bufio.NewReaderSize(z, 1<<16)
	}
	line, whole, err := r.readLine()
	if err == io.EOF {
		return nil, r.fault(fmt.Errorf("%w: the file is empty", ErrNoHeader))
	} else if err != nil {
		return nil, err
	}
	if err := r.header.UnmarshalJSON(line); err != nil {
		if !whole {
			err = fmt.Errorf("%w: %w", ErrNoHeader, err)
		}
		return nil, r.fault(err)
	}
	return r, nil
}

func isGzip(in *bufio.Reader) bool {
	magic, err := in.Peek(2)
	return err == nil && magic[0] == 0x1f && magic[1] == 0x8b
}

// Header is the file's first line.
func (r *Reader) Header() Header { return r.header }

// Close closes what Open opened.
func (r *Reader) Close() error { return r.close() }

// Line is the number of the line that was read last, counted from 1.
func (r *Reader) Line() int { return r.line }

// Cut says, after the end, whether the last line was cut short (a run that is
// still going or was killed): it is left out, and a resumed run makes it anew.
func (r *Reader) Cut() bool { return r.cut }

// Next reads the next record into rec, reusing its slices. It returns io.EOF
// after the last. After another error it returns that error again.
func (r *Reader) Next(rec *Record) error {
	if r.fatal == nil {
		r.fatal = r.next(rec)
	}
	return r.fatal
}

func (r *Reader) next(rec *Record) error {
	line, whole, err := r.readLine()
	if err != nil {
		return err
	}
	if !scanRecord(line, &r.header, rec) {
		if err := decodeRecord(line, &r.header, rec); err != nil {
			if !whole && !json.Valid(line) {
				r.cut = true
				return io.EOF
			}
			return r.fault(err)
		}
	}
	if !r.seen.add(rec.Index) {
		return r.fault(fmt.Errorf("index %d stands in the file twice", rec.Index))
	}
	return nil
}

// Records gives the records that are left, each with slices of its own. It
// ends after the first error.
func (r *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			var rec Record
			err := r.Next(&rec)
			if err == io.EOF {
				return
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// ReadAll reads a whole file. Cut is [Reader.Cut].
func ReadAll(path string) (h Header, records []Record, cut bool, err error) {
	r, err := Open(path)
	if err != nil {
		return Header{}, nil, false, err
	}
	defer r.Close()
	for rec, err := range r.Records() {
		if err != nil {
			return Header{}, nil, false, err
		}
		records = append(records, rec)
	}
	return r.header, records, r.cut, nil
}

func (r *Reader) fault(err error) error { return &LineError{File: r.name, Line: r.line, Err: err} }

// readLine reads one line without its newline; whole says whether there was
// one. The line is valid until the next call. io.EOF means no line is left.
func (r *Reader) readLine() (line []byte, whole bool, err error) {
	r.line++
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.long)+len(part) > maxLine {
			return nil, false, r.fault(fmt.Errorf("the line is longer than %d bytes", maxLine))
		}
		line = part
		if len(r.long) > 0 || err == bufio.ErrBufferFull {
			r.long = append(r.long, part...)
			line = r.long
		}
		switch {
		case err == nil:
			r.end += int64(len(line))
			return line[:len(line)-1], true, nil
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) == 0:
			r.line--
			return nil, false, io.EOF
		case err == io.EOF:
			return line, false, nil
		default:
			return nil, false, r.fault(err)
		}
	}
}
