; What x86's instructions do, for crates whose x86 path is written with them (`glam`'s quaternions, `num-bigint`'s carries):
; the device build is one for the host's target. A comparison's kind is a constant at every call, so that one comparison is left of all.

define <4 x float> @warpsmith.x86.sse.cmp.ps(<4 x float> %a, <4 x float> %b, i8 %how) alwaysinline {
  %c0 = fcmp oeq <4 x float> %a, %b
  %c1 = fcmp olt <4 x float> %a, %b
  %c2 = fcmp ole <4 x float> %a, %b
  %c3 = fcmp uno <4 x float> %a, %b
  %c4 = fcmp une <4 x float> %a, %b
  %c5 = fcmp uge <4 x float> %a, %b
  %c6 = fcmp ugt <4 x float> %a, %b
  %c7 = fcmp ord <4 x float> %a, %b
  %is1 = icmp eq i8 %how, 1
  %s1 = select i1 %is1, <4 x i1> %c1, <4 x i1> %c0
  %is2 = icmp eq i8 %how, 2
  %s2 = select i1 %is2, <4 x i1> %c2, <4 x i1> %s1
  %is3 = icmp eq i8 %how, 3
  %s3 = select i1 %is3, <4 x i1> %c3, <4 x i1> %s2
  %is4 = icmp eq i8 %how, 4
  %s4 = select i1 %is4, <4 x i1> %c4, <4 x i1> %s3
  %is5 = icmp eq i8 %how, 5
  %s5 = select i1 %is5, <4 x i1> %c5, <4 x i1> %s4
  %is6 = icmp eq i8 %how, 6
  %s6 = select i1 %is6, <4 x i1> %c6, <4 x i1> %s5
  %is7 = icmp eq i8 %how, 7
  %s7 = select i1 %is7, <4 x i1> %c7, <4 x i1> %s6
  %wide = sext <4 x i1> %s7 to <4 x i32>
  %mask = bitcast <4 x i32> %wide to <4 x float>
  ret <4 x float> %mask
}

define <4 x float> @warpsmith.x86.sse.cmp.ss(<4 x float> %a, <4 x float> %b, i8 %how) alwaysinline {
  %c0 = fcmp oeq <4 x float> %a, %b
  %c1 = fcmp olt <4 x float> %a, %b
  %c2 = fcmp ole <4 x float> %a, %b
  %c3 = fcmp uno <4 x float> %a, %b
  %c4 = fcmp une <4 x float> %a, %b
  %c5 = fcmp uge <4 x float> %a, %b
  %c6 = fcmp ugt <4 x float> %a, %b
  %c7 = fcmp ord <4 x float> %a, %b
  %is1 = icmp eq i8 %how, 1
  %s1 = select i1 %is1, <4 x i1> %c1, <4 x i1> %c0
  %is2 = icmp eq i8 %how, 2
  %s2 = select i1 %is2, <4 x i1> %c2, <4 x i1> %s1
  %is3 = icmp eq i8 %how, 3
  %s3 = select i1 %is3, <4 x i1> %c3, <4 x i1> %s2
  %is4 = icmp eq i8 %how, 4
  %s4 = select i1 %is4, <4 x i1> %c4, <4 x i1> %s3
  %is5 = icmp eq i8 %how, 5
  %s5 = select i1 %is5, <4 x i1> %c5, <4 x i1> %s4
  %is6 = icmp eq i8 %how, 6
  %s6 = select i1 %is6, <4 x i1> %c6, <4 x i1> %s5
  %is7 = icmp eq i8 %how, 7
  %s7 = select i1 %is7, <4 x i1> %c7, <4 x i1> %s6
  %wide = sext <4 x i1> %s7 to <4 x i32>
  %mask = bitcast <4 x i32> %wide to <4 x float>
  %low = extractelement <4 x float> %mask, i32 0
  %all = insertelement <4 x float> %a, float %low, i32 0
  ret <4 x float> %all
}

define <4 x float> @warpsmith.x86.sse.min.ps(<4 x float> %a, <4 x float> %b) alwaysinline {
  %c = fcmp olt <4 x float> %a, %b
  %mask = select <4 x i1> %c, <4 x float> %a, <4 x float> %b
  ret <4 x float> %mask
}

define <4 x float> @warpsmith.x86.sse.min.ss(<4 x float> %a, <4 x float> %b) alwaysinline {
  %c = fcmp olt <4 x float> %a, %b
  %mask = select <4 x i1> %c, <4 x float> %a, <4 x float> %b
  %low = extractelement <4 x float> %mask, i32 0
  %all = insertelement <4 x float> %a, float %low, i32 0
  ret <4 x float> %all
}

define <4 x float> @warpsmith.x86.sse.max.ps(<4 x float> %a, <4 x float> %b) alwaysinline {
  %c = fcmp ogt <4 x float> %a, %b
  %mask = select <4 x i1> %c, <4 x float> %a, <4 x float> %b
  ret <4 x float> %mask
}

define <4 x float> @warpsmith.x86.sse.max.ss(<4 x float> %a, <4 x float> %b) alwaysinline {
  %c = fcmp ogt <4 x float> %a, %b
  %mask = select <4 x i1> %c, <4 x float> %a, <4 x float> %b
  %low = extractelement <4 x float> %mask, i32 0
  %all = insertelement <4 x float> %a, float %low, i32 0
  ret <4 x float> %all
}

define <2 x double> @warpsmith.x86.sse2.cmp.pd(<2 x double> %a, <2 x double> %b, i8 %how) alwaysinline {
  %c0 = fcmp oeq <2 x double> %a, %b
  %c1 = fcmp olt <2 x double> %a, %b
  %c2 = fcmp ole <2 x double> %a, %b
  %c3 = fcmp uno <2 x double> %a, %b
  %c4 = fcmp une <2 x double> %a, %b
  %c5 = fcmp uge <2 x double> %a, %b
  %c6 = fcmp ugt <2 x double> %a, %b
  %c7 = fcmp ord <2 x double> %a, %b
  %is1 = icmp eq i8 %how, 1
  %s1 = select i1 %is1, <2 x i1> %c1, <2 x i1> %c0
  %is2 = icmp eq i8 %how, 2
  %s2 = select i1 %is2, <2 x i1> %c2, <2 x i1> %s1
  %is3 = icmp eq i8 %how, 3
  %s3 = select i1 %is3, <2 x i1> %c3, <2 x i1> %s2
  %is4 = icmp eq i8 %how, 4
  %s4 = select i1 %is4, <2 x i1> %c4, <2 x i1> %s3
  %is5 = icmp eq i8 %how, 5
  %s5 = select i1 %is5, <2 x i1> %c5, <2 x i1> %s4
  %is6 = icmp eq i8 %how, 6
  %s6 = select i1 %is6, <2 x i1> %c6, <2 x i1> %s5
  %is7 = icmp eq i8 %how, 7
  %s7 = select i1 %is7, <2 x i1> %c7, <2 x i1> %s6
  %wide = sext <2 x i1> %s7 to <2 x i64>
  %mask = bitcast <2 x i64> %wide to <2 x double>
  ret <2 x double> %mask
}

define <2 x double> @warpsmith.x86.sse2.cmp.sd(<2 x double> %a, <2 x double> %b, i8 %how) alwaysinline {
  %c0 = fcmp oeq <2 x double> %a, %b
  %c1 = fcmp olt <2 x double> %a, %b
  %c2 = fcmp ole <2 x double> %a, %b
  %c3 = fcmp uno <2 x double> %a, %b
  %c4 = fcmp une <2 x double> %a, %b
  %c5 = fcmp uge <2 x double> %a, %b
  %c6 = fcmp ugt <2 x double> %a, %b
  %c7 = fcmp ord <2 x double> %a, %b
  %is1 = icmp eq i8 %how, 1
  %s1 = select i1 %is1, <2 x i1> %c1, <2 x i1> %c0
  %is2 = icmp eq i8 %how, 2
  %s2 = select i1 %is2, <2 x i1> %c2, <2 x i1> %s1
  %is3 = icmp eq i8 %how, 3
  %s3 = select i1 %is3, <2 x i1> %c3, <2 x i1> %s2
  %is4 = icmp eq i8 %how, 4
  %s4 = select i1 %is4, <2 x i1> %c4, <2 x i1> %s3
  %is5 = icmp eq i8 %how, 5
  %s5 = select i1 %is5, <2 x i1> %c5, <2 x i1> %s4
  %is6 = icmp eq i8 %how, 6
  %s6 = select i1 %is6, <2 x i1> %c6, <2 x i1> %s5
  %is7 = icmp eq i8 %how, 7
  %s7 = select i1 %is7, <2 x i1> %c7, <2 x i1> %s6
  %wide = sext <2 x i1> %s7 to <2 x i64>
  %mask = bitcast <2 x i64> %wide to <2 x double>
  %low = extractelement <2 x double> %mask, i32 0
  %all = insertelement <2 x double> %a, double %low, i32 0
  ret <2 x double> %all
}

define <2 x double> @warpsmith.x86.sse2.min.pd(<2 x double> %a, <2 x double> %b) alwaysinline {
  %c = fcmp olt <2 x double> %a, %b
  %mask = select <2 x i1> %c, <2 x double> %a, <2 x double> %b
  ret <2 x double> %mask
}

define <2 x double> @warpsmith.x86.sse2.min.sd(<2 x double> %a, <2 x double> %b) alwaysinline {
  %c = fcmp olt <2 x double> %a, %b
  %mask = select <2 x i1> %c, <2 x double> %a, <2 x double> %b
  %low = extractelement <2 x double> %mask, i32 0
  %all = insertelement <2 x double> %a, double %low, i32 0
  ret <2 x double> %all
}

define <2 x double> @warpsmith.x86.sse2.max.pd(<2 x double> %a, <2 x double> %b) alwaysinline {
  %c = fcmp ogt <2 x double> %a, %b
  %mask = select <2 x i1> %c, <2 x double> %a, <2 x double> %b
  ret <2 x double> %mask
}

define <2 x double> @warpsmith.x86.sse2.max.sd(<2 x double> %a, <2 x double> %b) alwaysinline {
  %c = fcmp ogt <2 x double> %a, %b
  %mask = select <2 x i1> %c, <2 x double> %a, <2 x double> %b
  %low = extractelement <2 x double> %mask, i32 0
  %all = insertelement <2 x double> %a, double %low, i32 0
  ret <2 x double> %all
}

define <4 x i32> @warpsmith.x86.sse2.cvttps2dq(<4 x float> %a) alwaysinline {
  %from = fcmp oge <4 x float> %a, splat (float 0xC1E0000000000000)
  %to = fcmp olt <4 x float> %a, splat (float 0x41E0000000000000)
  %fits = and <4 x i1> %from, %to
  %whole = call <4 x i32> @llvm.fptosi.sat.v4i32.v4f32(<4 x float> %a)
  %result = select <4 x i1> %fits, <4 x i32> %whole, <4 x i32> splat (i32 -2147483648)
  ret <4 x i32> %result
}

define <4 x i32> @warpsmith.x86.sse2.cvtps2dq(<4 x float> %a) alwaysinline {
  %x = call <4 x float> @llvm.roundeven.v4f32(<4 x float> %a)
  %from = fcmp oge <4 x float> %x, splat (float 0xC1E0000000000000)
  %to = fcmp olt <4 x float> %x, splat (float 0x41E0000000000000)
  %fits = and <4 x i1> %from, %to
  %whole = call <4 x i32> @llvm.fptosi.sat.v4i32.v4f32(<4 x float> %x)
  %result = select <4 x i1> %fits, <4 x i32> %whole, <4 x i32> splat (i32 -2147483648)
  ret <4 x i32> %result
}

define <4 x float> @warpsmith.x86.sse.rcp.ps(<4 x float> %a) alwaysinline {
  %r = fdiv <4 x float> splat (float 1.0), %a
  ret <4 x float> %r
}

define <4 x float> @warpsmith.x86.sse.rsqrt.ps(<4 x float> %a) alwaysinline {
  %root = call <4 x float> @llvm.sqrt.v4f32(<4 x float> %a)
  %r = fdiv <4 x float> splat (float 1.0), %root
  ret <4 x float> %r
}

define { i8, i32 } @warpsmith.x86.addcarry.32(i8 %carry, i32 %a, i32 %b) alwaysinline {
  %set = icmp ne i8 %carry, 0
  %in = zext i1 %set to i64
  %wa = zext i32 %a to i64
  %wb = zext i32 %b to i64
  %first = add i64 %wa, %wb
  %all = add i64 %first, %in
  %sum = trunc i64 %all to i32
  %over = lshr i64 %all, 32
  %low = trunc i64 %over to i8
  %out = and i8 %low, 1
  %half = insertvalue { i8, i32 } poison, i8 %out, 0
  %both = insertvalue { i8, i32 } %half, i32 %sum, 1
  ret { i8, i32 } %both
}

define { i8, i32 } @warpsmith.x86.subborrow.32(i8 %carry, i32 %a, i32 %b) alwaysinline {
  %set = icmp ne i8 %carry, 0
  %in = zext i1 %set to i64
  %wa = zext i32 %a to i64
  %wb = zext i32 %b to i64
  %first = sub i64 %wa, %wb
  %all = sub i64 %first, %in
  %sum = trunc i64 %all to i32
  %over = lshr i64 %all, 32
  %low = trunc i64 %over to i8
  %out = and i8 %low, 1
  %half = insertvalue { i8, i32 } poison, i8 %out, 0
  %both = insertvalue { i8, i32 } %half, i32 %sum, 1
  ret { i8, i32 } %both
}

define { i8, i64 } @warpsmith.x86.addcarry.64(i8 %carry, i64 %a, i64 %b) alwaysinline {
  %set = icmp ne i8 %carry, 0
  %in = zext i1 %set to i128
  %wa = zext i64 %a to i128
  %wb = zext i64 %b to i128
  %first = add i128 %wa, %wb
  %all = add i128 %first, %in
  %sum = trunc i128 %all to i64
  %over = lshr i128 %all, 64
  %low = trunc i128 %over to i8
  %out = and i8 %low, 1
  %half = insertvalue { i8, i64 } poison, i8 %out, 0
  %both = insertvalue { i8, i64 } %half, i64 %sum, 1
  ret { i8, i64 } %both
}

define { i8, i64 } @warpsmith.x86.subborrow.64(i8 %carry, i64 %a, i64 %b) alwaysinline {
  %set = icmp ne i8 %carry, 0
  %in = zext i1 %set to i128
  %wa = zext i64 %a to i128
  %wb = zext i64 %b to i128
  %first = sub i128 %wa, %wb
  %all = sub i128 %first, %in
  %sum = trunc i128 %all to i64
  %over = lshr i128 %all, 64
  %low = trunc i128 %over to i8
  %out = and i8 %low, 1
  %half = insertvalue { i8, i64 } poison, i8 %out, 0
  %both = insertvalue { i8, i64 } %half, i64 %sum, 1
  ret { i8, i64 } %both
}

define <4 x i32> @warpsmith.x86.sse2.pmadd.wd(<8 x i16> %a, <8 x i16> %b) alwaysinline {
  %wa = sext <8 x i16> %a to <8 x i32>
  %wb = sext <8 x i16> %b to <8 x i32>
  %p = mul <8 x i32> %wa, %wb
  %even = shufflevector <8 x i32> %p, <8 x i32> poison, <4 x i32> <i32 0, i32 2, i32 4, i32 6>
  %odd = shufflevector <8 x i32> %p, <8 x i32> poison, <4 x i32> <i32 1, i32 3, i32 5, i32 7>
  %sum = add <4 x i32> %even, %odd
  ret <4 x i32> %sum
}

define <2 x i64> @warpsmith.x86.sse2.psad.bw(<16 x i8> %a, <16 x i8> %b) alwaysinline {
  %wa = zext <16 x i8> %a to <16 x i64>
  %wb = zext <16 x i8> %b to <16 x i64>
  %d = sub <16 x i64> %wa, %wb
  %abs = call <16 x i64> @llvm.abs.v16i64(<16 x i64> %d, i1 true)
  %low = shufflevector <16 x i64> %abs, <16 x i64> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %high = shufflevector <16 x i64> %abs, <16 x i64> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %s0 = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> %low)
  %s1 = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> %high)
  %r0 = insertelement <2 x i64> poison, i64 %s0, i64 0
  %r1 = insertelement <2 x i64> %r0, i64 %s1, i64 1
  ret <2 x i64> %r1
}

define <16 x i8> @warpsmith.x86.sse2.packsswb.128(<8 x i16> %a, <8 x i16> %b) alwaysinline {
  %both = shufflevector <8 x i16> %a, <8 x i16> %b, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %least = call <16 x i16> @llvm.smax.v16i16(<16 x i16> %both, <16 x i16> splat (i16 -128))
  %most = call <16 x i16> @llvm.smin.v16i16(<16 x i16> %least, <16 x i16> splat (i16 127))
  %packed = trunc <16 x i16> %most to <16 x i8>
  ret <16 x i8> %packed
}

define <16 x i8> @warpsmith.x86.sse2.packuswb.128(<8 x i16> %a, <8 x i16> %b) alwaysinline {
  %both = shufflevector <8 x i16> %a, <8 x i16> %b, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %least = call <16 x i16> @llvm.smax.v16i16(<16 x i16> %both, <16 x i16> splat (i16 0))
  %most = call <16 x i16> @llvm.smin.v16i16(<16 x i16> %least, <16 x i16> splat (i16 255))
  %packed = trunc <16 x i16> %most to <16 x i8>
  ret <16 x i8> %packed
}

define <8 x i16> @warpsmith.x86.sse2.packssdw.128(<4 x i32> %a, <4 x i32> %b) alwaysinline {
  %both = shufflevector <4 x i32> %a, <4 x i32> %b, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %least = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %both, <8 x i32> splat (i32 -32768))
  %most = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %least, <8 x i32> splat (i32 32767))
  %packed = trunc <8 x i32> %most to <8 x i16>
  ret <8 x i16> %packed
}

define <8 x i16> @warpsmith.x86.sse2.psll.w(<8 x i16> %a, <8 x i16> %count) alwaysinline {
  %counts = bitcast <8 x i16> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %fits = icmp ult i64 %n, 16
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 15)
  %by = trunc i64 %by64 to i16
  %one = insertelement <8 x i16> poison, i16 %by, i64 0
  %all = shufflevector <8 x i16> %one, <8 x i16> poison, <8 x i32> zeroinitializer
  %shifted = shl <8 x i16> %a, %all
  %result = select i1 %fits, <8 x i16> %shifted, <8 x i16> zeroinitializer
  ret <8 x i16> %result
}

define <4 x i32> @warpsmith.x86.sse2.psll.d(<4 x i32> %a, <4 x i32> %count) alwaysinline {
  %counts = bitcast <4 x i32> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %fits = icmp ult i64 %n, 32
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 31)
  %by = trunc i64 %by64 to i32
  %one = insertelement <4 x i32> poison, i32 %by, i64 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %shifted = shl <4 x i32> %a, %all
  %result = select i1 %fits, <4 x i32> %shifted, <4 x i32> zeroinitializer
  ret <4 x i32> %result
}

define <2 x i64> @warpsmith.x86.sse2.psll.q(<2 x i64> %a, <2 x i64> %count) alwaysinline {
  %counts = bitcast <2 x i64> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %fits = icmp ult i64 %n, 64
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 63)
  %by = add i64 %by64, 0
  %one = insertelement <2 x i64> poison, i64 %by, i64 0
  %all = shufflevector <2 x i64> %one, <2 x i64> poison, <2 x i32> zeroinitializer
  %shifted = shl <2 x i64> %a, %all
  %result = select i1 %fits, <2 x i64> %shifted, <2 x i64> zeroinitializer
  ret <2 x i64> %result
}

define <8 x i16> @warpsmith.x86.sse2.psrl.w(<8 x i16> %a, <8 x i16> %count) alwaysinline {
  %counts = bitcast <8 x i16> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %fits = icmp ult i64 %n, 16
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 15)
  %by = trunc i64 %by64 to i16
  %one = insertelement <8 x i16> poison, i16 %by, i64 0
  %all = shufflevector <8 x i16> %one, <8 x i16> poison, <8 x i32> zeroinitializer
  %shifted = lshr <8 x i16> %a, %all
  %result = select i1 %fits, <8 x i16> %shifted, <8 x i16> zeroinitializer
  ret <8 x i16> %result
}

define <4 x i32> @warpsmith.x86.sse2.psrl.d(<4 x i32> %a, <4 x i32> %count) alwaysinline {
  %counts = bitcast <4 x i32> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %fits = icmp ult i64 %n, 32
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 31)
  %by = trunc i64 %by64 to i32
  %one = insertelement <4 x i32> poison, i32 %by, i64 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %shifted = lshr <4 x i32> %a, %all
  %result = select i1 %fits, <4 x i32> %shifted, <4 x i32> zeroinitializer
  ret <4 x i32> %result
}

define <2 x i64> @warpsmith.x86.sse2.psrl.q(<2 x i64> %a, <2 x i64> %count) alwaysinline {
  %counts = bitcast <2 x i64> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %fits = icmp ult i64 %n, 64
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 63)
  %by = add i64 %by64, 0
  %one = insertelement <2 x i64> poison, i64 %by, i64 0
  %all = shufflevector <2 x i64> %one, <2 x i64> poison, <2 x i32> zeroinitializer
  %shifted = lshr <2 x i64> %a, %all
  %result = select i1 %fits, <2 x i64> %shifted, <2 x i64> zeroinitializer
  ret <2 x i64> %result
}

define <8 x i16> @warpsmith.x86.sse2.psra.w(<8 x i16> %a, <8 x i16> %count) alwaysinline {
  %counts = bitcast <8 x i16> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 15)
  %by = trunc i64 %by64 to i16
  %one = insertelement <8 x i16> poison, i16 %by, i64 0
  %all = shufflevector <8 x i16> %one, <8 x i16> poison, <8 x i32> zeroinitializer
  %shifted = ashr <8 x i16> %a, %all
  ret <8 x i16> %shifted
}

define <4 x i32> @warpsmith.x86.sse2.psra.d(<4 x i32> %a, <4 x i32> %count) alwaysinline {
  %counts = bitcast <4 x i32> %count to <2 x i64>
  %n = extractelement <2 x i64> %counts, i64 0
  %by64 = call i64 @llvm.umin.i64(i64 %n, i64 31)
  %by = trunc i64 %by64 to i32
  %one = insertelement <4 x i32> poison, i32 %by, i64 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %shifted = ashr <4 x i32> %a, %all
  ret <4 x i32> %shifted
}

declare <4 x float> @llvm.roundeven.v4f32(<4 x float>)
declare <4 x i32> @llvm.fptosi.sat.v4i32.v4f32(<4 x float>)
declare <4 x float> @llvm.sqrt.v4f32(<4 x float>)
declare <16 x i64> @llvm.abs.v16i64(<16 x i64>, i1)
declare i64 @llvm.vector.reduce.add.v8i64(<8 x i64>)
declare <16 x i16> @llvm.smax.v16i16(<16 x i16>, <16 x i16>)
declare <16 x i16> @llvm.smin.v16i16(<16 x i16>, <16 x i16>)
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)
declare <8 x i32> @llvm.smin.v8i32(<8 x i32>, <8 x i32>)
declare i64 @llvm.umin.i64(i64, i64)
