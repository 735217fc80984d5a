#include "output/binary.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

struct magic {
	size_t at;
	const char *bytes;
	size_t len;
	const char *type;
	bool readable; /* could as well begin a text: needs another sign, a short one a strong sign
	                */
};

#define MAGIC(at, bytes, type)                                                                     \
	{                                                                                          \
		(at), (bytes), sizeof(bytes) - 1, (type), false                                    \
	}
#define READABLE(at, bytes, type)                                                                  \
	{                                                                                          \
		(at), (bytes), sizeof(bytes) - 1, (type), true                                     \
	}

/* Longer and more special beginnings come before shorter ones. */
static const struct magic magics[] = {
	MAGIC(0,
              "\x7f"
              "ELF",
              "ELF file"),
	MAGIC(0, "\x89PNG\r\n\x1a\n", "PNG image"),
	MAGIC(0, "\xff\xd8\xff", "JPEG image"),
	READABLE(0, "GIF87a", "GIF image"),
	READABLE(0, "GIF89a", "GIF image"),
	MAGIC(0, "II*\0", "TIFF image"),
	MAGIC(0, "MM\0*", "TIFF image"),
	MAGIC(0, "\0\0\1\0", "icon"),
	MAGIC(0, "\x00\x00\x00\x0cjP  \r\n", "JPEG 2000 image"),
	READABLE(0, "8BPS\0", "Photoshop image"),
	READABLE(8, "WEBP", "WebP image"),
	READABLE(8, "WAVE", "WAV audio"),
	READABLE(8, "AVI ", "AVI video"),
	READABLE(4, "ftypavif", "AVIF image"),
	READABLE(4, "ftyphei", "HEIF image"),
	READABLE(4, "ftypqt", "QuickTime video"),
	READABLE(4, "ftyp", "MP4 video"),
	READABLE(0, "OggS", "Ogg media"),
	READABLE(0, "fLaC", "FLAC audio"),
	READABLE(0, "ID3", "MP3 audio"),
	MAGIC(0, "\xff\xfb", "MP3 audio"),
	READABLE(0, "MThd", "MIDI audio"),
	MAGIC(0, "\x1a\x45\xdf\xa3", "Matroska or WebM video"),
	READABLE(0, "FLV\1", "Flash video"),
	READABLE(0, "%PDF-", "PDF document"),
	MAGIC(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office document"),
	MAGIC(0, "\x1f\x8b", "gzip data"),
	MAGIC(0, "\x1f\x9d", "compress data"),
	MAGIC(0, "PK\3\4", "ZIP archive"),
	MAGIC(0, "PK\5\6", "ZIP archive (empty)"),
	MAGIC(0,
              "\xfd"
              "7zXZ\0",
              "xz data"),
	MAGIC(0, "\x28\xb5\x2f\xfd", "Zstandard data"),
	MAGIC(0, "\x04\x22\x4d\x18", "LZ4 data"),
	READABLE(0, "BZh", "bzip2 data"),
	MAGIC(0, "7z\xbc\xaf\x27\x1c", "7-Zip archive"),
	MAGIC(0, "Rar!\x1a\7", "RAR archive"),
	MAGIC(0, "\x5d\0\0", "LZMA data"),
	READABLE(257, "ustar", "tar archive"),
	READABLE(0, "!<arch>\ndebian", "Debian package"),
	READABLE(0, "!<arch>\n", "ar archive"),
	MAGIC(0, "\xed\xab\xee\xdb", "RPM package"),
	READABLE(0, "070701", "cpio archive"),
	READABLE(0, "070707", "cpio archive"),
	MAGIC(0, "\xc7\x71", "cpio archive"),
	READABLE(0, "hsqs", "SquashFS image"),
	MAGIC(0, "SQLite format 3\0", "SQLite database"),
	MAGIC(0, "\0asm", "WebAssembly module"),
	MAGIC(0, "\xca\xfe\xba\xbe\0\0\0", "Java class or Mach-O universal file"),
	MAGIC(0, "\xca\xfe\xd0\x0d", "Java archive (pack200)"),
	MAGIC(0, "\xfe\xed\xfa\xce", "Mach-O file"),
	MAGIC(0, "\xfe\xed\xfa\xcf", "Mach-O file"),
	MAGIC(0, "\xce\xfa\xed\xfe", "Mach-O file"),
	MAGIC(0, "\xcf\xfa\xed\xfe", "Mach-O file"),
	READABLE(0, "MZ", "Windows program"),
	READABLE(0, "dex\n", "Dalvik program"),
	MAGIC(0, "BC\xc0\xde", "LLVM bitcode"),
	MAGIC(0, "\x93NUMPY", "NumPy array"),
	MAGIC(0, "\x89HDF\r\n\x1a\n", "HDF5 data"),
	READABLE(0, "CDF\1", "NetCDF data"),
	READABLE(0, "PAR1", "Parquet data"),
	READABLE(0, "ARROW1", "Arrow data"),
	READABLE(0, "Obj\1", "Avro data"),
	READABLE(0, "GGUF", "GGUF model"),
	READABLE(0, "PACK\0", "Git pack"),
	READABLE(0, "DIRC\0", "Git index"),
	READABLE(0, "wOFF", "WOFF font"),
	READABLE(0, "wOF2", "WOFF2 font"),
	READABLE(0, "OTTO\0", "OpenType font"),
	MAGIC(0, "\0\1\0\0\0", "TrueType font"),
	MAGIC(0, "\xd4\xc3\xb2\xa1", "pcap capture"),
	MAGIC(0, "\xa1\xb2\xc3\xd4", "pcap capture"),
	READABLE(0, "\x0a\x0d\x0d\x0a", "pcapng capture"),
	MAGIC(0, "\x30\x82", "DER data"),
	READABLE(0, "BM", "BMP image"),
	MAGIC(0, "\x78\x9c", "zlib data"),
	MAGIC(0, "\x78\xda", "zlib data"),
	MAGIC(0, "\x80\x04\x95", "Python pickle"),
};

struct signs {
	size_t n;
	size_t nuls;
	size_t double_nuls; /* NUL behind NUL */
	size_t even_nuls, odd_nuls;
	size_t controls; /* other than those of text and colours; NULs not counted */
	size_t invalid;  /* bytes that are not UTF-8 */
};

static bool is_odd_control(unsigned char c)
{
	return (c && c < 0x07) || (c >= 0x0e && c < 0x20 && c != 0x1b) || c == 0x7f;
}

static struct signs look(const char *bytes, size_t n)
{
	struct signs s = {.n = n};
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = utf8_char(bytes + i, n - i, NULL);
		if (!len) {
			if (utf8_is_cut(bytes + i, n - i))
				break; /* the sample ends here, perhaps not the character */
			len = utf8_bad(bytes + i, n - i);
			s.invalid += len;
		}
		if (!bytes[i]) {
			s.nuls++;
			s.double_nuls += i && !bytes[i - 1];
			if (i % 2)
				s.odd_nuls++;
			else
				s.even_nuls++;
		}
		s.controls += is_odd_control((unsigned char)bytes[i]);
	}
	return s;
}

static const char *unicode_mark(const char *bytes, size_t n)
{
	if (n >= 4 && !memcmp(bytes, "\xff\xfe\0\0", 4))
		return "UTF-32 text, little-endian";
	if (n >= 4 && !memcmp(bytes, "\0\0\xfe\xff", 4))
		return "UTF-32 text, big-endian";
	if (n >= 2 && !memcmp(bytes, "\xff\xfe", 2))
		return "UTF-16 text, little-endian";
	if (n >= 2 && !memcmp(bytes, "\xfe\xff", 2))
		return "UTF-16 text, big-endian";
	return NULL;
}

static const char *magic_type(const char *bytes, size_t n, bool suspicious, bool odd)
{
	for (size_t i = 0; i < array_size(magics); i++) {
		const struct magic *m = &magics[i];

		if (m->at >= n || m->len > n - m->at ||
		    memcmp(bytes + m->at, m->bytes, m->len) != 0)
			continue;
		if (!m->readable || odd || (suspicious && m->len >= 4))
			return m->type;
	}
	return NULL;
}

/* What the bytes are when no beginning tells: by the kind of their oddities. */
static const char *guess(const struct signs *s)
{
	if (s->nuls && !s->invalid && !s->controls && !s->double_nuls && s->nuls * 4 <= s->n * 3) {
		if (s->odd_nuls * 5 >= s->n * 2 && !s->even_nuls)
			return "UTF-16 text, little-endian";
		if (s->even_nuls * 5 >= s->n * 2 && !s->odd_nuls)
			return "UTF-16 text, big-endian";
		return "text with NUL bytes";
	}
	if (!s->nuls && !s->controls)
		return "text that is not UTF-8";
	return "data";
}

bool binary_detect(const char *bytes, size_t n, const char **ret_type)
{
	enum { SHARE_SAMPLE = 1024 };
	size_t near = n < SHARE_SAMPLE ? n : SHARE_SAMPLE;
	const char *type;
	struct signs all, first;
	bool odd;

	if (!n)
		return false;
	if (n > BINARY_SAMPLE)
		n = BINARY_SAMPLE;
	all = look(bytes, n);
	first = look(bytes, near);
	/* More than three of ten bytes: text in an 8-bit encoding of Latin letters stays text. */
	odd = all.nuls || (first.controls + first.invalid) * 10 > near * 3;
	type = unicode_mark(bytes, n);
	if (!type)
		type = magic_type(bytes, n, all.controls || all.invalid, odd);
	if (!type && !odd)
		return false;
	*ret_type = type ? type : guess(&all);
	return true;
}
