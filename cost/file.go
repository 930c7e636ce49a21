package cost

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a matrix from what a user writes on the command line: a file
// ending in .csv or .json, or an expression (see ParseExpr). The matrix must
// be for the given number of classes. names are the data's class names, or nil.
func Parse(arg string, classes int, names []string) (*Matrix, error) {
	switch ext := strings.ToLower(filepath.Ext(arg)); {
	case strings.Contains(arg, "->") && !exists(arg):
		return ParseExpr(arg, classes, names)
	case ext != ".csv" && ext != ".json":
		return nil, fmt.Errorf("cost %q is neither a .csv or .json file nor an expression such as 3->* or cat->dog:10", arg)
	default:
		raw, err := os.ReadFile(arg)
		if err != nil {
			return nil, fmt.Errorf("cost matrix: %w", err)
		}
		read := ReadCSV
		if ext == ".json" {
			read = ReadJSON
		}
		m, err := read(raw, classes, names)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		return m, nil
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadJSON reads {"classes":[names],"costs":[[…],…]} or the rows alone.
// Names in the file must be the data's, where both are there; a file in
// another order is put into the data's order.
func ReadJSON(raw []byte, classes int, names []string) (*Matrix, error) {
	var f struct {
		Classes []string    `json:"classes"`
		Costs   [][]float64 `json:"costs"`
	}
	var err error
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '[' {
		err = decode(raw, &f.Costs)
	} else {
		err = decode(raw, &f)
	}
	if err != nil {
		return nil, fmt.Errorf(`%w; want [[0,1],[1,0]] or {"classes":["a","b"],"costs":[[0,1],[1,0]]}`, err)
	}
	return fromFile(f.Costs, f.Classes, classes, names)
}

// decode is strict: a misspelt field or text after the value is an error.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		line := 1 + bytes.Count(raw[:min(d.InputOffset(), int64(len(raw)))], []byte("\n"))
		return fmt.Errorf("line %d: %w", line, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("line %d: text after the matrix", 1+bytes.Count(raw[:d.InputOffset()], []byte("\n")))
	}
	return nil
}

// ReadCSV reads one row a class, with an optional first line and an optional
// first column of class names. Lines that begin with # are comments.
func ReadCSV(raw []byte, classes int, names []string) (*Matrix, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))))
	r.FieldsPerRecord = -1 // we say ourselves which row is wrong
	r.TrimLeadingSpace = true
	r.Comment = '#'
	var cells [][]string
	var lines []int
	for {
		rec, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err // names the line
		}
		for i := range rec {
			rec[i] = strings.TrimSpace(rec[i])
		}
		line, _ := r.FieldPos(0)
		cells, lines = append(cells, rec), append(lines, line)
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("the matrix is empty")
	}
	header, first := splitNames(cells)
	if header != nil {
		cells, lines = cells[1:], lines[1:]
	}
	rows := make([][]float64, len(cells))
	var column []string
	for i, rec := range cells {
		if first {
			column = append(column, rec[0])
			rec = rec[1:]
		}
		for j, s := range rec {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d, field %d: %q is not a number", lines[i], j+1+btoi(first), s)
			}
			rows[i] = append(rows[i], v)
		}
		if len(rows[i]) != len(cells) {
			return nil, fmt.Errorf("line %d: the matrix is not square: %d costs in this row, %d rows", lines[i], len(rows[i]), len(cells))
		}
	}
	fileNames := header
	switch {
	case header == nil:
		fileNames = column
	case column != nil && !slices.Equal(header, column):
		return nil, fmt.Errorf("the names of the first line and of the first column differ")
	}
	return fromFile(rows, fileNames, classes, names)
}

// splitNames returns the class names of the first line, or nil where it holds
// costs, and whether the first column holds names. A number as the only name
// would be taken for a cost, so names count only where a cell is no number. With
// both, the first line may have a cell more for the corner.
func splitNames(cells [][]string) (header []string, first bool) {
	isNumber := func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }
	for _, rec := range cells[1:] {
		first = first || len(rec) > 0 && !isNumber(rec[0])
	}
	top := cells[0]
	if first && len(top) >= len(cells) { // one longer than the classes: a corner
		top = top[1:]
	}
	for _, s := range top {
		if !isNumber(s) {
			return top, first
		}
	}
	return nil, first
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fromFile checks a file's matrix against the data it is for.
func fromFile(rows [][]float64, fileNames []string, classes int, names []string) (*Matrix, error) {
	if len(rows) != classes {
		return nil, fmt.Errorf("the matrix is for %d classes, the data has %d", len(rows), classes)
	}
	if fileNames == nil {
		return New(rows, names)
	}
	m, err := New(rows, fileNames)
	if err != nil || names == nil {
		return m, err
	}
	ordered := make([][]float64, classes)
	at := make([]int, classes) // place in the file of the data's class
	for i, n := range names {
		at[i] = slices.Index(fileNames, n)
		if at[i] < 0 {
			return nil, fmt.Errorf("the matrix has no class %q: its classes are %s", n, listNames(fileNames))
		}
	}
	for i := range ordered {
		ordered[i] = make([]float64, classes)
		for j := range ordered[i] {
			ordered[i][j] = rows[at[i]][at[j]]
		}
	}
	return New(ordered, names)
}
