package certify

import (
	"io"
	"strconv"
	"strings"
)

// digits of a radius in certificates.jsonl.
const digits = 6

// FormatRadius prints r with the given number of decimals, cut and never
// rounded up: a printed radius is always one that was proved.
func FormatRadius(r float64, decimals int) string {
	// 40 decimals are exact enough: a float64 above 1e-6 that is not itself a
	// decimal of few digits is further than 1e-30 from one.
	s := strconv.FormatFloat(r, 'f', 40, 64)
	whole, frac, _ := strings.Cut(s, ".")
	if decimals == 0 {
		return whole
	}
	return whole + "." + frac[:min(decimals, len(frac))]
}

// AppendJSON appends the result as one line of certificates.jsonl:
//
//	{"index":0,"label":3,"top":3,"abstained":false,"r_std":0.523114,"r_group":0.531220,"r_pair":{"5":0.531220}}
//
// r_group and r_pair are there where the label is sensitive.
func (r Result) AppendJSON(b []byte) []byte {
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, int64(r.Index), 10)
	b = append(b, `,"label":`...)
	b = strconv.AppendInt(b, int64(r.Label), 10)
	b = append(b, `,"top":`...)
	b = strconv.AppendInt(b, int64(r.Top), 10)
	b = append(b, `,"abstained":`...)
	b = strconv.AppendBool(b, r.Abstained)
	b = append(b, `,"r_std":`...)
	b = append(b, FormatRadius(r.RStd, digits)...)
	if r.Sensitive {
		b = append(b, `,"r_group":`...)
		b = append(b, FormatRadius(r.RGroup, digits)...)
		b = append(b, `,"r_pair":{`...)
		for i, p := range r.Pairs {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(p.Class), 10)
			b = append(b, `":`...)
			b = append(b, FormatRadius(p.Radius, digits)...)
		}
		b = append(b, '}')
	}
	return append(b, "}\n"...)
}

// WriteJSONL writes certificates.jsonl: one line a result.
func WriteJSONL(w io.Writer, results []Result) error {
	var b []byte
	for _, r := range results {
		b = r.AppendJSON(b[:0])
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
