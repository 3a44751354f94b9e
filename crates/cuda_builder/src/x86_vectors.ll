; What x86's vector instructions do, for crates whose x86 path is written with them (`glam`'s quaternions): the device build
; is one for the host's target. A comparison's kind is a constant at every call, so that one comparison is left of all.

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

declare <4 x float> @llvm.roundeven.v4f32(<4 x float>)
declare <4 x i32> @llvm.fptosi.sat.v4i32.v4f32(<4 x float>)
declare <4 x float> @llvm.sqrt.v4f32(<4 x float>)
