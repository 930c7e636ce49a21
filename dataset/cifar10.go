package dataset

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

const (
	cifarPixels = 3 * 32 * 32
	cifarRecord = 1 + cifarPixels // a label, then red, green and blue planes
	cifarFile   = 10000 * cifarRecord
)

var cifarClasses = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

// openCIFAR10 reads the binary version of CIFAR-10 into memory. Example i of
// the training set is record i%10000 of data_batch_(i/10000+1).bin.
func openCIFAR10(dir, split string, _ *options) (*set, error) {
	split, err := wantSplit(split, "train", "test")
	if err != nil {
		return nil, err
	}
	files := []string{"test_batch.bin"}
	if split == "train" {
		files = []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}
	}
	if _, err := os.Stat(filepath.Join(dir, files[0])); os.IsNotExist(err) {
		if sub := filepath.Join(dir, "cifar-10-batches-bin"); isDir(sub) { // as the archive unpacks
			dir = sub
		}
	}
	var labels []int
	pixels := make([]byte, 0, len(files)*10000*cifarPixels)
	h := sha256.New()
	for _, file := range files {
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(data) != cifarFile {
			return nil, fmt.Errorf("%s has %d bytes, not %d: not a CIFAR-10 batch, or cut short", path, len(data), cifarFile)
		}
		if labels, pixels, err = decodeCIFAR(data, labels, pixels); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		h.Write(data)
	}
	s := newSet(3, 32, 32, labels, pixels)
	s.identity = "cifar10 " + digest(h)
	s.split = split
	s.classes = cifarClasses
	s.name = func(i int) string { return fmt.Sprintf("%s#%d", files[i/10000], i%10000) }
	return s, nil
}

// decodeCIFAR appends the labels and pixels of whole records.
func decodeCIFAR(data []byte, labels []int, pixels []byte) ([]int, []byte, error) {
	if len(data)%cifarRecord != 0 {
		return nil, nil, fmt.Errorf("%d bytes are not a whole number of records of %d", len(data), cifarRecord)
	}
	for i := 0; len(data) > 0; i++ {
		if int(data[0]) >= len(cifarClasses) {
			return nil, nil, fmt.Errorf("record %d has label %d, not one of %d classes", i, data[0], len(cifarClasses))
		}
		labels = append(labels, int(data[0]))
		pixels = append(pixels, data[1:cifarRecord]...)
		data = data[cifarRecord:]
	}
	return labels, pixels, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
