package counts

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const testHeader = `{"lorica":"counts","version":1,"classes":3,"sigma":0.5,"n0":10,"n":100,"seed":7,"model":{"path":"m.onnx","sha256":"ab"},"data":"cifar10","split":"test","engine":"cpu float32"}`

// decodeAll reads text as a counts file named t.jsonl.
func decodeAll(text string) (Header, []Record, *Reader, error) {
	r, err := Decode(strings.NewReader(text), "t.jsonl")
	if err != nil {
		return Header{}, nil, nil, err
	}
	var records []Record
	for rec, err := range r.Records() {
		if err != nil {
			return Header{}, nil, r, err
		}
		records = append(records, rec)
	}
	return r.Header(), records, r, nil
}

func TestGoldenCounts(t *testing.T) {
	for _, name := range []string{"gaussian", "margin-cs"} {
		h, records, cut, err := ReadAll("testdata/" + name + "_resnet20_s050.jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		if cut || len(records) != 80 || h.Classes != 10 || h.N != 10000 || h.N0 != 100 || h.Sigma != 0.5 {
			t.Errorf("%s: %d records, cut %v, header %+v", name, len(records), cut, h)
		}
		if want := "pytorch 2.11, bf16 autocast, H200"; h.Engine != want {
			t.Errorf("engine %q, want %q", h.Engine, want)
		}
	}
	_, records, _, err := ReadAll("testdata/gaussian_resnet20_s050.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	want := Record{Index: 20, Label: 7, N: 10000,
		Select: []int64{1, 2, 1, 3, 0, 1, 0, 88, 0, 4},
		Count:  []int64{27, 188, 32, 104, 16, 234, 0, 8996, 0, 403}}
	if !reflect.DeepEqual(records[1], want) {
		t.Errorf("got %+v, want %+v", records[1], want)
	}
}

func TestGzipIsToldByContent(t *testing.T) {
	text := testHeader + "\n" + `{"index":4,"label":1,"select":{"1":10},"count":{"1":100}}` + "\n"
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	io.WriteString(zw, text)
	zw.Close()
	path := filepath.Join(t.TempDir(), "plain-name.jsonl")
	if err := os.WriteFile(path, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, records, _, err := ReadAll(path); err != nil || len(records) != 1 || records[0].Index != 4 {
		t.Fatalf("records %v, error %v", records, err)
	}
	cut := z.Bytes()[:z.Len()-9]
	if err := os.WriteFile(path, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := ReadAll(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a cut gzip file gave %v", err)
	}
}

func TestBadLines(t *testing.T) {
	const good = `{"index":0,"label":1,"select":{"1":10},"count":{"1":100}}`
	tests := []struct{ name, line, want string }{
		{"not json", `{"index":0,`, "not JSON"},
		{"blank", ``, "not JSON"},
		{"array", `[]`, "not a JSON object"},
		{"trailing", good + ` {}`, "after the JSON object"},
		{"short select", `{"index":5,"label":1,"select":{"1":9},"count":{"1":100}}`, "select sums to 9"},
		{"short count", `{"index":5,"label":1,"select":{"1":10},"count":{"1":99}}`, "count sums to 99"},
		{"invalid unsaid", `{"index":5,"label":1,"select":{"1":10},"count":{"1":98},"invalid":1}`, "count sums to 99 with 1 invalid"},
		{"invalid beyond", `{"index":5,"label":1,"select":{"1":10},"count":{},"invalid":101}`, "invalid is 101"},
		{"own n", `{"index":5,"label":1,"select":{"1":10},"count":{"1":100},"n":200}`, "number of draws 200"},
		{"n zero", `{"index":5,"label":1,"select":{"1":10},"count":{},"n":0}`, "n is 0"},
		{"label", `{"index":5,"label":3,"select":{"1":10},"count":{"1":100}}`, "label 3"},
		{"class", `{"index":5,"label":1,"select":{"3":10},"count":{"1":100}}`, `class "3"`},
		{"class name", `{"index":5,"label":1,"select":{"01":10},"count":{"1":100}}`, `class "01"`},
		{"negative", `{"index":5,"label":1,"select":{"1":10},"count":{"0":-1,"1":101}}`, "not between"},
		{"wraps round", `{"index":5,"label":1,"select":{"1":10},"count":{"0":9223372036854775807,"1":9223372036854775807,"2":102}}`, "not between"},
		{"fraction", `{"index":5,"label":1,"select":{"1":10},"count":{"1":100.0}}`, "whole number"},
		{"null", `{"index":null,"label":1,"select":{"1":10},"count":{"1":100}}`, "whole number"},
		{"class twice", `{"index":5,"label":1,"select":{"1":10},"count":{"1":50,"1":100}}`, "stands twice"},
		{"field twice", `{"index":5,"index":6,"label":1,"select":{"1":10},"count":{"1":100}}`, "stands twice"},
		{"no label", `{"index":5,"select":{"1":10},"count":{"1":100}}`, `"label" is missing`},
		{"other case", `{"Index":5,"label":1,"select":{"1":10},"count":{"1":100}}`, `"index" is missing`},
		{"index below 0", `{"index":-1,"label":1,"select":{"1":10},"count":{"1":100}}`, "index -1"},
		{"index too large", `{"index":4294967296,"label":1,"select":{"1":10},"count":{"1":100}}`, "index 4294967296"},
		{"repeat", good, "index 0 stands in the file twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, _, err := decodeAll(testHeader + "\n" + good + "\n" + test.line + "\n" + `{"index":9` + "\n")
			var at *LineError
			if !errors.As(err, &at) || at.File != "t.jsonl" || at.Line != 3 {
				t.Fatalf("error %v does not name t.jsonl:3", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not contain %q", err, test.want)
			}
		})
	}
}

func TestBadHeaders(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"empty", testHeader, ``, "empty"},
		{"not json", testHeader, `hello`, "not JSON"},
		{"other kind", `"counts"`, `"certificates"`, "not a counts file"},
		{"version", `"version":1`, `"version":2`, "version 2"},
		{"no sigma", `"sigma":0.5,`, ``, `"sigma" is missing`},
		{"sigma", `"sigma":0.5`, `"sigma":0`, "sigma is 0"},
		{"classes", `"classes":3`, `"classes":1`, "classes is 1"},
		{"too many classes", `"classes":3`, `"classes":1000000000`, "classes is"},
		{"names", `"classes":3`, `"classes":3,"names":["a"]`, "1 names for 3"},
		{"n", `"n":100`, `"n":0`, "n is 0"},
		{"n0", `"n0":10`, `"n0":-1`, "n0 is -1"},
		{"seed", `"seed":7`, `"seed":-7`, `field "seed"`},
		{"type", `"data":"cifar10"`, `"data":5`, `field "data"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(testHeader, test.old, test.new, 1)
			if text != "" {
				text += "\n"
			}
			_, _, _, err := decodeAll(text)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "t.jsonl:") {
				t.Errorf("error %v does not name the place and %q", err, test.want)
			}
		})
	}
}

func TestCutLastLine(t *testing.T) {
	text := testHeader + "\n" + `{"index":0,"label":1,"select":{"1":10},"count":{"1":100}}`
	for n := len(testHeader) + 1; n <= len(text); n++ {
		_, records, r, err := decodeAll(text[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		whole, none := n == len(text), n == len(testHeader)+1
		if len(records) == 1 != whole || r.Cut() != (!whole && !none) {
			t.Errorf("cut at %d: %d records, Cut %v", n, len(records), r.Cut())
		}
	}
	for n := range len(testHeader) {
		if _, _, _, err := decodeAll(testHeader[:n]); !errors.Is(err, ErrNoHeader) {
			t.Errorf("a header cut at %d gave %v", n, err)
		}
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	h := strings.Replace(testHeader, `"path":"m.onnx"`, `"path":"m.onnx","kind":[1, 2]`, 1)
	h = strings.Replace(h, `"lorica"`, `"z": {"b":1, "a":2}, "lorica"`, 1)
	text := h + "\n" + `{"time": 1.50,"index":2,"label":0,"select":{"0":9},"invalid_select":1,"count":{"0":40,"2":9},"n":50,"invalid":1}` + "\n"
	header, records, _, err := decodeAll(text)
	if err != nil {
		t.Fatal(err)
	}
	rec := records[0]
	if rec.N != 50 || rec.Invalid != 1 || rec.InvalidSelect != 1 || string(rec.Extra["time"]) != "1.50" {
		t.Errorf("record %+v", rec)
	}
	var out bytes.Buffer
	line, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%s\n", line)
	line, err = appendRecord(nil, &header, &rec)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "%s\n", line)
	want := strings.Replace(strings.TrimSuffix(testHeader, "}"), `"sha256":"ab"`, `"sha256":"ab","kind":[1,2]`, 1) + `,"z":{"b":1,"a":2}}` + "\n" +
		`{"index":2,"label":0,"select":{"0":9},"count":{"0":40,"2":9},"n":50,"invalid_select":1,"invalid":1,"time":1.50}` + "\n"
	if out.String() != want {
		t.Errorf("written back as\n%swant\n%s", out.String(), want)
	}
	_, again, _, err := decodeAll(out.String())
	if err != nil || !reflect.DeepEqual(again, records) {
		t.Errorf("read back as %+v, error %v", again, err)
	}
}

func TestNextReusesSlices(t *testing.T) {
	r, err := Decode(strings.NewReader(testHeader+"\n"+
		`{"index":0,"label":1,"select":{"0":10},"count":{"0":100}}`+"\n"+
		`{"index":1,"label":2,"select":{"2":10},"count":{"2":100}}`+"\n"), "t.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	if err := r.Next(&rec); err != nil {
		t.Fatal(err)
	}
	first := &rec.Count[0]
	if err := r.Next(&rec); err != nil {
		t.Fatal(err)
	}
	if &rec.Count[0] != first || !reflect.DeepEqual(rec.Count, []int64{0, 0, 100}) {
		t.Errorf("count %v, same memory %v", rec.Count, &rec.Count[0] == first)
	}
	if err := r.Next(&rec); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
