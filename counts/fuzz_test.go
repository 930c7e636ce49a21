package counts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// FuzzDecode: whatever is read without an error is valid, and its canonical
// form reads back as the same and encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(testHeader + "\n" + `{"index":0,"label":1,"select":{"1":10},"count":{"1":100}}` + "\n"))
	f.Add([]byte(testHeader + "\n" + `{"x":[1, 2],"index":0,"label":1,"select":{"1":10},"count":{"1":99},"invalid":1}`))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, records, _, err := decodeAll(string(data))
		if err != nil {
			return
		}
		encode := func(h Header, records []Record) []byte {
			line, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			fmt.Fprintf(&out, "%s\n", line)
			for i := range records {
				if err := records[i].Validate(&h); err != nil {
					t.Fatal(err)
				}
				line, err := appendRecord(nil, &h, &records[i])
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s\n", line)
			}
			return out.Bytes()
		}
		canonical := encode(h, records)
		h2, records2, _, err := decodeAll(string(canonical))
		if err != nil {
			t.Fatalf("%q, written back as %q: %v", data, canonical, err)
		}
		if err := h.Fits(&h2); err != nil {
			t.Fatal(err)
		}
		if again := encode(h2, records2); !bytes.Equal(again, canonical) {
			t.Fatalf("canonical %q became %q", canonical, again)
		}
	})
}

// FuzzRecord: the fast path and encoding/json agree wherever the fast path
// speaks.
func FuzzRecord(f *testing.F) {
	var h Header
	if err := json.Unmarshal([]byte(testHeader), &h); err != nil {
		f.Fatal(err)
	}
	f.Add(`{"index":0,"label":1,"select":{"1":10},"count":{"1":100}}`)
	f.Add(` { "index" : 12, "label":2,"select":{"0":3,"2":6},"count":{},"n":9,"invalid_select":1 ,"invalid":9 } `)
	f.Add(`{"index":0,"label":1,"select":{"1":10},"count":{"1":100,}}`)
	f.Add(`{"index":0,"label":1,"select":{" 1":10},"count":{"01":100}}`)
	f.Fuzz(func(t *testing.T, line string) {
		var fast, slow Record
		if !scanRecord([]byte(line), &h, &fast) {
			return
		}
		if err := decodeRecord([]byte(line), &h, &slow); err != nil {
			t.Fatalf("%q: the fast path read %+v, encoding/json says %v", line, fast, err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%q: %+v and %+v", line, fast, slow)
		}
	})
}

// TestFastPathTakesCanonicalLines guards the speed: what Writer writes and what
// the golden files hold must not fall back.
func TestFastPathTakesCanonicalLines(t *testing.T) {
	h := parseHeader(t, testHeader)
	for i := range 20 {
		rec := testRecord(i)
		line, err := appendRecord(nil, &h, &rec)
		if err != nil {
			t.Fatal(err)
		}
		var fast Record
		if spaced := strings.NewReplacer(":", ": ", ",", ", ").Replace(string(line)); !scanRecord(line, &h, &fast) || !scanRecord([]byte(spaced), &h, &fast) {
			t.Errorf("%s fell back", line)
		}
		if !reflect.DeepEqual(fast, rec) {
			t.Errorf("%+v came back as %+v", rec, fast)
		}
	}
}

// benchFile makes a file of ten classes as large as a real one.
func benchFile(records int) []byte {
	var out bytes.Buffer
	out.WriteString(strings.Replace(strings.Replace(testHeader, `"classes":3`, `"classes":10`, 1), `"n":100`, `"n":100000`, 1) + "\n")
	for i := range records {
		fmt.Fprintf(&out, `{"index":%d,"label":%d,"select":{"3":8,"5":2},"count":{"0":187,"1":83,"2":128,"3":91827,"4":11,"5":%d,"6":%d}}`+"\n",
			i, i%10, 7000-i%5000, 764+i%5000)
	}
	return out.Bytes()
}

func BenchmarkRead(b *testing.B) {
	data := benchFile(20000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := Decode(bytes.NewReader(data), "bench")
		if err != nil {
			b.Fatal(err)
		}
		var rec Record
		for err = r.Next(&rec); err == nil; err = r.Next(&rec) {
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*20000/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkReadJSON is the same without the fast path.
func BenchmarkReadJSON(b *testing.B) {
	lines := bytes.Split(bytes.TrimSpace(benchFile(20000)), []byte("\n"))
	var h Header
	if err := json.Unmarshal(lines[0], &h); err != nil {
		b.Fatal(err)
	}
	var rec Record
	for b.Loop() {
		for _, line := range lines[1:] {
			if err := decodeRecord(line, &h, &rec); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*20000/b.Elapsed().Seconds(), "records/s")
}
